import { readFileSync, realpathSync, statSync } from "node:fs";
import * as z from "zod";
import { defaultPolicy, policy as policyShape, type Policy } from "#shared/api/policy.ts";
import { judgeStart, type StartVerdict } from "#shared/guard/judge-start.ts";
import { plainPath } from "#shared/guard/paths.ts";
import { type Refusal, refusedBecause } from "#shared/guard/verdict.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Log } from "./log.ts";
import { type Sandbox, sandboxShape } from "./process/sandbox.ts";

/**
 * The policy of this node: the file `policy.json` in the agent's data folder, which whoever owns the machine writes and no
 * control plane can change. No file is the default policy. A file that cannot be used refuses every start and says why: a
 * slip in it must not open what it was written to close.
 *
 * The file is looked at with each start and read again when it has changed, so a change holds from the next start on.
 */
export type NodePolicy = {
  /** What the policy says of a start that runs in this folder, and what that is to run in. */
  judge(launch: Launch, cwd: string): StartVerdict & { sandbox?: Sandbox | undefined };
  /** Why nothing is sent to what runs (signals, input, a new limit of `timeoutMs`); undefined: it may be. */
  steeringRefusal(asked: { timeoutMs?: number }): Refusal | undefined;
};

/** What only the owner of a machine can say is not in the policy of the fleet. */
const shape = policyShape.extend({ sandbox: sandboxShape.optional() });
type OwnPolicy = z.infer<typeof shape>;

type Read = { stamp: string; policy: OwnPolicy; broken?: undefined } | { stamp: string; broken: Refusal };

export function nodePolicy(path: string, log: Log): NodePolicy {
  let last: Read | undefined;
  const current = (): Read => {
    const stamp = stampOf(path);
    if (last?.stamp === stamp) return last;
    const isFirst = last === undefined;
    last = readPolicy(path, stamp);
    if (last.broken) log.error("policy.broken", { path, reason: last.broken.reason });
    else if (!isFirst || stamp !== missing) log.info("policy.read", { path });
    return last;
  };
  current();
  return {
    judge(launch, cwd) {
      const read = current();
      if (read.broken) return { allowed: false, refusal: read.broken };
      return { ...judgeStart(startOf(launch, cwd), read.policy), sandbox: read.policy.sandbox };
    },
    steeringRefusal({ timeoutMs }) {
      const read = current();
      return read.broken ? undefined : steeringRefusal(read.policy, timeoutMs);
    },
  };
}

const missing = "missing";

// A file that is replaced or written to has another stamp, however fast that was.
function stampOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? missing : `unreadable ${code}`;
  }
}

function readPolicy(path: string, stamp: string): Read {
  if (stamp === missing) return { stamp, policy: ofNode(defaultPolicy) };
  try {
    const parsed = shape.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return parsed.success
      ? { stamp, policy: ofNode(parsed.data) }
      : { stamp, broken: broken(path, z.prettifyError(parsed.error).replace(/\s+/g, " ")) };
  } catch (error) {
    return { stamp, broken: broken(path, error instanceof Error ? error.message : String(error)) };
  }
}

const broken = (path: string, fault: string): Refusal =>
  refusedBecause(
    "policy_file",
    `The policy file ${path} on the node cannot be used, so nothing is started there: ${fault.slice(0, 500)}.`,
  );

/** Only the owner of the machine lends its users. */
const ofNode = (policy: OwnPolicy): OwnPolicy => ({
  ...policy,
  users: policy.users ?? [],
  ...(policy.roots && { roots: policy.roots.map(realPath) }),
  ...(policy.sandbox && {
    sandbox: { ...policy.sandbox, writable: policy.sandbox.writable.map(realPath) },
  }),
});

// A link into a root is in it only if what it points to is. What is not there is taken as it is written.
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Whether the folder is missing is for the start to find out.
    return plainPath(path) ?? path;
  }
}

const startOf = (launch: Launch, cwd: string) => ({
  command: launch.command,
  argv: launch.argv,
  shell: launch.shell,
  cwd: realPath(cwd),
  env: launch.env,
  stdin: typeof launch.stdin === "object" ? launch.stdin.text : undefined,
  timeoutMs: launch.timeoutMs ?? undefined,
  idleTimeoutMs: launch.idleTimeoutMs ?? undefined,
  outputBytes: launch.outputBytes ?? undefined,
  memBytes: launch.memBytes ?? undefined,
  cpuPct: launch.cpuPct ?? undefined,
  pids: launch.pids ?? undefined,
  user: launch.user ?? undefined,
});

function steeringRefusal({ readOnly, limits }: Policy, timeoutMs = 0): Refusal | undefined {
  if (readOnly)
    return refusedBecause(
      "read_only",
      "The node's policy is read-only: what runs can be read and stopped, not steered.",
    );
  const most = limits.timeoutMs ?? Infinity;
  return timeoutMs <= most
    ? undefined
    : refusedBecause(
        "limit",
        `The node's policy allows timeoutMs up to ${most}; ${timeoutMs} was asked for.`,
      );
}
