import { closeSync, constants, openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineAnswer } from "../engine.ts";
import type { Child } from "./child.ts";
import { signalOne } from "./kill.ts";
import { procEntry } from "./proc-table.ts";

/**
 * An open stdin is a FIFO whose write end a keeper process holds, so that the command sees no end of file between writes
 * or while the agent is away. Writing never blocks the agent: a full pipe is tried again until the command reads or ends.
 * End of file is the end of the keeper.
 */
const lookEveryMs = [1, 2, 5, 10, 25, 50];
const maxWaiting = 64;

const conflict = (message: string): EngineAnswer => ({ error: { code: "conflict", message } });

export class Stdin {
  #child: Child;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(child: Child) {
    this.#child = child;
  }

  /** Writes in the order of the calls; answers when the pipe took all of it. */
  write(bytes: Uint8Array, eof: boolean): Promise<EngineAnswer> {
    if (this.#child.spec.stdin !== "pipe")
      return Promise.resolve(conflict('this process was started without stdin: "pipe"'));
    if (this.#waiting >= maxWaiting)
      return Promise.resolve({
        error: { code: "unavailable", message: "too many writes wait for the process to read its stdin" },
      });
    this.#waiting++;
    const answer = this.#last.then(() => this.#writeNow(bytes, eof)).finally(() => this.#waiting--);
    this.#last = answer;
    return answer;
  }

  async #writeNow(bytes: Uint8Array, eof: boolean): Promise<EngineAnswer> {
    const fd = await this.#open();
    if (typeof fd !== "number") return fd;
    try {
      const writtenBytes = await this.#push(fd, bytes);
      if (writtenBytes < bytes.length)
        return {
          error: {
            code: "process_not_running",
            message: `the process ended or closed its stdin after ${writtenBytes} of ${bytes.length} bytes`,
          },
        };
      if (eof) await this.#endKeeper();
      return { value: { writtenBytes } };
    } finally {
      closeSync(fd);
    }
  }

  /** The pipe has a reader from just before the command begins until it closes its stdin. */
  async #open(): Promise<number | EngineAnswer> {
    for (let look = 0; ; look++) {
      if (this.#child.phase !== "claimed" && this.#child.phase !== "running")
        return { error: { code: "process_not_running", message: "the process has ended" } };
      if (this.#closed) return conflict("stdin was closed by an earlier eof");
      try {
        return openSync(this.#child.folder.in, constants.O_WRONLY | constants.O_NONBLOCK);
      } catch (error) {
        // No pipe or no reader yet while the process is being started; later: it has closed its stdin.
        if (this.#child.phase === "running" && look > 0)
          return conflict(
            `the process does not read its stdin (${(error as NodeJS.ErrnoException).code ?? "unknown"})`,
          );
      }
      await sleep(lookEveryMs[look] ?? 50);
      this.#child.look();
    }
  }

  async #push(fd: number, bytes: Uint8Array): Promise<number> {
    let written = 0;
    for (let full = 0; written < bytes.length;) {
      const took = tryWrite(fd, bytes.subarray(written));
      if (took === "closed") return written;
      if (took > 0) full = 0;
      else await sleep(lookEveryMs[full++] ?? 50);
      written += took;
      if (this.#child.phase === "ended") return written;
    }
    return written;
  }

  #closed = false;
  async #endKeeper(): Promise<void> {
    this.#closed = true;
    // The command opens the pipe before it has begun: without a writer, which the keeper is then, that would last for ever, and
    // what was written would be gone.
    for (let look = 0; this.#child.phase === "claimed"; look++) {
      await sleep(lookEveryMs[look] ?? 50);
      this.#child.look();
    }
    const pid = this.#child.tree.keeperPid;
    const keeper = pid === null ? undefined : procEntry(pid);
    // The keeper is a child of the wrapper, or it is not the keeper; the wrapper may end it in this moment.
    if (keeper && keeper.ppid === this.#child.tree.wrapper?.pid) signalOne(keeper, "SIGKILL");
  }
}

const tryWrite = (fd: number, bytes: Uint8Array): number | "closed" => {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EAGAIN") return 0;
    if (code === "EPIPE") return "closed";
    throw error;
  }
};
