import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { execa } from "execa";

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
  login: Login,
  { mark, limitMs }: { mark: string; limitMs: number },
): Promise<string> => {
  const shell = execa(login.shell, ["-lc", scriptOf(mark)], {
    env: login.env,
    extendEnv: false,
    cwd: existsSync(login.env["HOME"] ?? "") ? login.env["HOME"] : "/",
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    // A session of its own: no terminal that a profile could ask something on, and a group to kill.
    killDescendants: true,
    killSignal: "SIGKILL",
    buffer: false,
    reject: false,
  });
  const chunks: Buffer[] = [];
  const enough = Promise.withResolvers<void>();
  shell.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    if (isWhole(chunks, mark)) enough.resolve();
  });
  // What the shell has left behind may hold the pipe open: the end of the output comes after its end.
  shell.nodeChildProcess.once("exit", () => shell.kill());
  const ended = shell.then(() => enough.resolve());
  const timer = setTimeout(enough.resolve, limitMs);
  await enough.promise;
  clearTimeout(timer);
  // Once it has exited its group was killed, and the number may belong to somebody else.
  if (shell.nodeChildProcess.exitCode === null && shell.nodeChildProcess.signalCode === null) shell.kill();
  shell.stdout.destroy();
  await ended;
  return Buffer.concat(chunks).toString("utf8");
};

/** Whether both marks are there, or more than a login may say. */
const isWhole = (chunks: Buffer[], mark: string): boolean => {
  const all = Buffer.concat(chunks);
  const first = all.indexOf(mark);
  return all.length > maxLoginBytes || (first >= 0 && all.indexOf(mark, first + mark.length) >= 0);
};

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split("\0").flatMap((entry) => {
      const equals = entry.indexOf("=");
      return equals > 0 ? [[entry.slice(0, equals), entry.slice(equals + 1)]] : [];
    }),
  );
