import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { type Outcome, runProgram } from "../machine/run-program.ts";

/**
 * What a login shell exports. Profiles are not ours: one may print, read, start programs, exit or never end. So the shell
 * gets no terminal and no stdin, and only what stands between two marks counts: `mark NUL (name=value NUL)* mark`. Nobody
 * waits for more than the second mark; what the shell or the profile still does then has a few seconds to end by itself.
 * Where the mark does not come in time, the whole group is told to end.
 */
/** `shell`: its path, behind whatever it is to be run through. */
export type Login = { shell: string[]; env: Record<string, string> };
export type LoginOutcome = { exported: Record<string, string> } | { failure: string };
export type LoginLimits = { limitMs?: number | undefined; signal?: AbortSignal | undefined };

const loginMs = 5000;
const maxLoginBytes = 4 * 1024 * 1024;

/** The variables that a login shell exports, or why they are not known; `signal` ends the shell. */
export const loginEnvironment = async (
  { shell, env }: Login,
  { limitMs = loginMs, signal }: LoginLimits,
): Promise<LoginOutcome> => {
  const mark = randomUUID();
  const [file = "/bin/sh", ...through] = shell;
  const home = env["HOME"] ?? "";
  const outcome = await runProgram({
    file,
    args: [...through, "-lc", scriptOf(mark)],
    env,
    cwd: existsSync(home) ? home : "/",
    limitMs,
    maxBytes: maxLoginBytes,
    enough: (output) => isWhole(output, mark),
    signal,
  });
  const [, between, after] = outcome.stdout.toString("utf8").split(mark);
  if (between === undefined || after === undefined) return { failure: failureOf(outcome, limitMs) };
  return { exported: variablesIn(between) };
};

const failureOf = ({ cut, code }: Outcome, limitMs: number): string => {
  if (cut === "time") return `its profile was not through after ${limitMs / 1000} s`;
  if (cut === "size") return `its profile printed more than ${maxLoginBytes / 1024 / 1024} MiB`;
  if (cut === "not_started") return "it could not be started";
  if (cut === "signal") return "the agent was stopped";
  return `its profile ended it (${code === null ? "by a signal" : `exit code ${code}`})`;
};

const scriptOf = (mark: string): string => `printf '%s\\0' ${mark}; /usr/bin/env -0; printf '%s' ${mark}`;

const isWhole = (output: Buffer, mark: string): boolean => {
  const first = output.indexOf(mark);
  return first >= 0 && output.indexOf(mark, first + mark.length) >= 0;
};

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split("\0").flatMap((entry) => {
      const equals = entry.indexOf("=");
      return equals > 0 ? [[entry.slice(0, equals), entry.slice(equals + 1)]] : [];
    }),
  );
