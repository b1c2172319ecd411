import { type ChildProcess, spawn } from "node:child_process";

/**
 * Runs a short helper program of the agent itself, without a shell, in a group of its own that is killed whole when the
 * program has ended, when it said enough, or when its time is up. (A process library that does this and much more takes
 * 12 MB of an agent's memory for good.)
 */
export type Program = {
  file: string;
  args: string[];
  limitMs: number;
  maxBytes: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Whether what was written so far is all that is wanted. */
  enough?: (output: Buffer) => boolean;
};

/** `code` is null where the program did not end by itself, or could not be started. */
export type Outcome = { code: number | null; stdout: Buffer };

/** What is still in the pipe when the program has exited is waited for this long; somebody outside the group may hold it open. */
const drainMs = 200;

export const runProgram = (program: Program): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = start(program);
    let stdout = Buffer.alloc(0);
    const answer = (code: number | null) => {
      clearTimeout(timer);
      child.stdout?.destroy();
      resolve({ code, stdout });
    };
    const cut = () => {
      if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
      answer(null);
    };
    let timer = setTimeout(cut, program.limitMs);
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout = Buffer.concat([stdout, chunk]);
      if (stdout.length > program.maxBytes || program.enough?.(stdout)) cut();
    });
    child.once("error", () => answer(null));
    child.once("exit", (code) => {
      // In the moment of the exit the group's number cannot belong to somebody else.
      killGroup(child.pid);
      clearTimeout(timer);
      timer = setTimeout(() => answer(code), drainMs);
    });
    child.once("close", (code) => answer(code));
  });

const start = ({ file, args, env, cwd }: Program): ChildProcess =>
  spawn(file, args, {
    env: env ?? process.env,
    cwd: cwd ?? "/",
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });

const killGroup = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
};
