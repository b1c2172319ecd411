import { type ChildProcess, spawn } from "node:child_process";
import { ProgramGroup } from "./program-group.ts";

/**
 * Runs a short helper program of the agent itself, without a shell, in a group of its own. The answer comes as soon as the
 * program has ended, said enough, or is cut off; nobody waits for the group, which then has `patienceMs` to end by itself
 * (none when it was cut off) before it is ended. (A process library that does this and much more takes 12 MB of an agent's
 * memory for good.)
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
  /** Cuts the program off, or ends the patience with its group. */
  signal?: AbortSignal | undefined;
};

/** `code` is null where the program did not end by itself; `cut` says what cut it off. */
export type Outcome = { code: number | null; stdout: Buffer; cut?: Cut };
type Cut = "time" | "size" | "signal" | "not_started";

/** What is still in the pipe when the program has exited is waited for this long; somebody outside the group may hold it open. */
const drainMs = 200;
const patienceMs = 3000;

export const runProgram = (program: Program): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = start(program);
    const group = new ProgramGroup(child);
    let stdout = Buffer.alloc(0);
    let isAnswered = false;
    const answer = (code: number | null, cut?: Cut) => {
      if (isAnswered) return;
      isAnswered = true;
      clearTimeout(timer);
      program.signal?.removeEventListener("abort", onAbort);
      resolve({ code, stdout, ...(cut && { cut }) });
      // Until then its output is read, and dropped: who writes into a closed pipe dies of it.
      void group.end(cut ? 0 : patienceMs, program.signal).then(() => child.stdout?.destroy());
    };
    const onAbort = () => answer(null, "signal");
    let timer = setTimeout(() => answer(null, "time"), program.limitMs);
    program.signal?.addEventListener("abort", onAbort);
    if (program.signal?.aborted) onAbort();
    child.stdout?.on("data", (chunk: Buffer) => {
      if (isAnswered) return;
      stdout = Buffer.concat([stdout, chunk]);
      if (stdout.length > program.maxBytes) answer(null, "size");
      else if (program.enough?.(stdout)) answer(null);
    });
    child.once("error", () => answer(null, "not_started"));
    child.once("exit", (code) => {
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
