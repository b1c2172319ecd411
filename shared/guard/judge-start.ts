import type { Policy, PolicyLimits } from "../api/policy.ts";
import { wallLimitNames } from "../api/walls.ts";
import { bookOf, programVerdict } from "./policy-book.ts";
import { plainPath } from "./paths.ts";
import { refusal, refusalOfArgv } from "./refusal.ts";
import { type Refusal, refusedBecause } from "./verdict.ts";

/** A start as a policy sees it. */
export type JudgedStart = PolicyLimits & {
  command?: string | null | undefined;
  argv?: readonly string[] | null | undefined;
  shell?: string | undefined;
  /** Undefined where the node chooses: its own policy knows it. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** The text that the command reads. */
  stdin?: string | undefined;
  user?: string | undefined;
};

/** `limits`: what holds for the start, which is what it asked for or what the policy says. */
export type StartVerdict = { allowed: true; limits: PolicyLimits } | { allowed: false; refusal: Refusal };

/**
 * What a policy says of a start: whether anything may start, as whom, where, for how long, and last the command itself.
 * Pure; bounded time for a command of up to 1 MiB.
 */
export function judgeStart(start: JudgedStart, policy: Policy): StartVerdict {
  const refused =
    readOnlyRefusal(policy) ??
    userRefusal(start, policy) ??
    folderRefusal(start, policy) ??
    limitRefusal(start, policy) ??
    commandRefusal(start, policy);
  return refused === undefined
    ? { allowed: true, limits: { ...policy.limits, ...given(start) } }
    : { allowed: false, refusal: refused };
}

const readOnlyRefusal = ({ readOnly }: Policy): Refusal | undefined =>
  readOnly
    ? refusedBecause("read_only", "The policy lets nothing be started here: it is read-only.")
    : undefined;

const userRefusal = ({ user }: JudgedStart, { users }: Policy): Refusal | undefined =>
  user === undefined || users === undefined || users.includes(user)
    ? undefined
    : refusedBecause(
        "user",
        `The policy does not let commands run as ${user}; ${allowedList("users", users)}.`,
      );

const allowedList = (what: string, names: readonly string[]): string =>
  names.length === 0 ? `it names no ${what}` : `its ${what} are ${names.slice(0, 20).join(", ")}`;

function folderRefusal({ cwd }: JudgedStart, { roots }: Policy): Refusal | undefined {
  if (roots === undefined) return undefined;
  const below = `only in ${roots.slice(0, 20).join(", ")} and below`;
  if (cwd === undefined)
    return refusedBecause(
      "folder",
      `The policy lets commands start ${below}: the start has to name a cwd there.`,
    );
  const path = plainPath(cwd) ?? cwd;
  return roots.some((root) => isBelow(path, plainPath(root) ?? root))
    ? undefined
    : refusedBecause("folder", `The policy lets commands start ${below}, not in ${path}.`);
}

const isBelow = (path: string, root: string): boolean =>
  root === "/" || path === root || path.startsWith(`${root}/`);

const limitNames = ["timeoutMs", "idleTimeoutMs", "outputBytes", ...wallLimitNames] as const;

function limitRefusal(start: JudgedStart, { limits }: Policy): Refusal | undefined {
  for (const name of limitNames) {
    const most = limits[name];
    const asked = start[name];
    if (most !== undefined && asked !== undefined && asked > most)
      return refusedBecause("limit", `The policy allows ${name} up to ${most}; the start asks for ${asked}.`);
  }
  return undefined;
}

const given = (start: JudgedStart): PolicyLimits =>
  Object.fromEntries(limitNames.flatMap((name) => (start[name] === undefined ? [] : [[name, start[name]]])));

const shells = /^(?:ba|da|a|z|k|mk)?sh$/;

function commandRefusal(start: JudgedStart, policy: Policy): Refusal | undefined {
  const { cwd, env, stdin, argv, command } = start;
  const book = bookOf(policy);
  if (argv) return refusalOfArgv(argv, { cwd, env, stdin }, book);
  const shell = start.shell?.slice(start.shell.lastIndexOf("/") + 1) ?? "sh";
  const asProgram = shells.test(shell) ? undefined : programVerdict(policy)?.(shell);
  return asProgram ?? refusal(command ?? "", { cwd, env, stdin }, book);
}
