import type { ProcessTemplate } from "#shared/api/process.ts";
import type { Policy, PolicyVerdict, TryPolicyBody } from "#shared/api/policy.ts";
import { DroverError } from "#shared/errors.ts";
import { judgeStart, type JudgedStart } from "#shared/guard/judge-start.ts";
import { refusalText } from "#shared/guard/verdict.ts";
import type { Needs } from "../needs.ts";
import { fleetPolicy } from "./fleet-policy.ts";
import { plainEnv } from "./launch.ts";

/** Refuses what the policy of the fleet does not let start; answers the start with the limits that hold for it. */
export const requireAllowed = async <Body extends ProcessTemplate>(
  needs: Pick<Needs, "store">,
  body: Body,
): Promise<Body> => {
  const verdict = judgeStart(judged(body), await fleetPolicy(needs));
  if (!verdict.allowed) {
    const { rule, reason, advice } = verdict.refusal;
    throw new DroverError("command_refused", refusalText(verdict.refusal), { rule, reason, advice });
  }
  const { timeoutMs, idleTimeoutMs, ...limits } = verdict.limits;
  return { ...body, timeoutMs, idleTimeoutMs, limits: { ...body.limits, ...limits } };
};

type Asked = Pick<JudgedStart, "command" | "argv" | "shell" | "cwd" | "user" | "timeoutMs" | "idleTimeoutMs">;

const judged = (body: ProcessTemplate): JudgedStart => ({
  ...asked(body),
  env: plainEnv(body),
  stdin: typeof body.stdin === "object" ? body.stdin.text : undefined,
  ...body.limits,
});

const asked = ({ command, argv, shell, cwd, user, timeoutMs, idleTimeoutMs }: Asked): Asked => ({
  command,
  argv,
  shell,
  cwd,
  user,
  timeoutMs,
  idleTimeoutMs,
});

/** What would become of a start under the policy of the fleet, or under another one that is given. */
export const tryPolicy = async (needs: Pick<Needs, "store">, body: TryPolicyBody): Promise<PolicyVerdict> => {
  const policy: Policy = body.policy ?? (await fleetPolicy(needs));
  const start = {
    ...asked(body),
    env: body.env,
    stdin: body.stdin?.text,
    ...body.limits,
  };
  const verdict = judgeStart(start, policy);
  return verdict.allowed ? { allowed: true } : { allowed: false, ...verdict.refusal };
};
