import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { runProgram } from "../machine/run-program.ts";

/**
 * What a login shell exports. Profiles are not ours: one may print, read, start programs, exit or never end. So the shell
 * gets no terminal and no stdin, and only what stands between two marks counts: `mark NUL (name=value NUL)* mark`. As soon
 * as the second mark is seen, the shell has exited or the time is up, its whole group is killed; nothing of it lives on.
 */
export type Login = { shell: string; env: Record<string, string> };

const loginMs = 5000;
const maxLoginBytes = 4 * 1024 * 1024;

/** The variables that a login shell exports, or null when it fails or takes longer than `limitMs`. */
export const loginEnvironment = async (
  login: Login,
  limitMs = loginMs,
): Promise<Record<string, string> | null> => {
  const mark = randomUUID();
  const [, between, after] = (await loginOutput(login, { mark, limitMs })).split(mark);
  return between === undefined || after === undefined ? null : variablesIn(between);
};

const scriptOf = (mark: string): string => `printf '%s\\0' ${mark}; /usr/bin/env -0; printf '%s' ${mark}`;

const loginOutput = async (
  { shell, env }: Login,
  { mark, limitMs }: { mark: string; limitMs: number },
): Promise<string> => {
  const home = env["HOME"] ?? "";
  const { stdout } = await runProgram({
    file: shell,
    args: ["-lc", scriptOf(mark)],
    env,
    cwd: existsSync(home) ? home : "/",
    limitMs,
    maxBytes: maxLoginBytes,
    enough: (output) => isWhole(output, mark),
  });
  return stdout.toString("utf8");
};

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
