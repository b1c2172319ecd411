import { unheldField } from "#shared/api/walls.ts";
import { refusalText, type Refusal } from "#shared/guard/verdict.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { EngineAnswer } from "../engine.ts";
import type { Walls } from "../machine/walls.ts";
import type { NodePolicy } from "../policy-file.ts";
import { failed } from "./ending.ts";
import type { Ending } from "./record.ts";
import type { Sandbox } from "./sandbox.ts";
import { homeOf, type UserAccount, type Users } from "./users.ts";

/** What starts are measured by here. */
export type AdmitNeeds = { policy?: NodePolicy | undefined; walls: Walls; users: Users; cwd: string };

/** A start as it will run: with its folder, the limits that the node's policy holds for it, and whose it is. */
export type Admitted = {
  launch: Launch & { cwd: string };
  /** Undefined: the agent's own. */
  account: UserAccount | undefined;
  /** Undefined: the node's policy asks for none. */
  sandbox?: Sandbox | undefined;
  /** The ending of one that is not to run. */
  refusal: Ending | undefined;
};

export function admit({ policy, walls, users, cwd }: AdmitNeeds, asked: Launch): Admitted {
  const user = asked.user === users.own ? null : asked.user;
  const account = user === null ? undefined : users.find(user);
  const start = { ...asked, user, cwd: asked.cwd ?? (account ? homeOf(account) : cwd) };
  const verdict = policy?.judge(start, start.cwd);
  if (verdict?.allowed === false)
    return {
      launch: start,
      account,
      refusal: failed("command_refused", `On this node: ${refusalText(verdict.refusal)}`),
    };
  const launch = { ...start, ...verdict?.limits };
  const nobody =
    user !== null && !account
      ? failed("spawn_error", `there is no user ${user} in /etc/passwd of this node`)
      : undefined;
  const sandbox = verdict?.sandbox;
  return {
    ...{ launch, account, sandbox },
    refusal: wallRefusal(walls, launch) ?? nobody ?? (sandbox && sandboxRefusal(walls)),
  };
}

/** The policy is not held by half: where there is no sandbox to be had, nothing is started. */
const sandboxRefusal = (walls: Walls): Ending | undefined =>
  walls.sandbox === undefined
    ? failed(
        "command_refused",
        "On this node: the policy asks for a sandbox, and bwrap is not installed or does not work (looked for as the agent started)",
      )
    : undefined;

/** The ending of a start that asks for what cannot be held here. The control plane refuses it first, by what this node said last. */
const wallRefusal = (walls: Walls, launch: Launch): Ending | undefined => {
  const field = unheldField(launch, walls.enforces);
  return field === undefined
    ? undefined
    : failed("spawn_error", `${field} cannot be held on this node, so nothing was started`);
};

/** The answer to a request that the node's policy refuses. */
export const refusedAnswer = (refusal: Refusal | undefined): EngineAnswer | undefined =>
  refusal && { error: { code: "command_refused", message: refusalText(refusal) } };
