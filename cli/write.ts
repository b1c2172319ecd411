// Writing bytes to our own stdout and stderr, exactly and with back pressure. Through the file descriptor and not the
// stream: a stream's write to a pipe blocks the whole program while its reader is slow, and Ctrl-C would go unheard.

import { write } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export const stdoutFd = 1;
export const stderrFd = 2;

/** `gone`: whoever read it has left (`… | head -1`). */
export type Written = "ok" | "gone";

/** Writes all bytes, in order; the caller waits before it takes more. */
export async function writeAll(fd: number, bytes: Uint8Array): Promise<Written> {
  let rest = bytes;
  while (rest.length > 0) {
    const step = await writeSome(fd, rest);
    if (step === "gone") return "gone";
    // A terminal or pipe that another program made non-blocking: there is nothing to wait on but time.
    if (step === 0) await delay(5);
    rest = rest.subarray(step);
  }
  return "ok";
}

function writeSome(fd: number, bytes: Uint8Array): Promise<number | "gone"> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, count) => {
      if (error === null) resolve(count);
      else if (error.code === "EAGAIN") resolve(0);
      else if (leftReader.has(error.code ?? "")) resolve("gone");
      else reject(error);
    });
  });
}

// EIO: the terminal was closed. EBADF: started without this descriptor (`>&-`).
const leftReader: ReadonlySet<string> = new Set(["EPIPE", "EIO", "EBADF"]);

const encoder = new TextEncoder();

/** A line for programs and people who read the result. */
export const say = (text: string): Promise<Written> => writeAll(stdoutFd, encoder.encode(`${text}\n`));

/** A line about what is going on, apart from the result. */
export const tell = (text: string): Promise<Written> => writeAll(stderrFd, encoder.encode(`${text}\n`));
