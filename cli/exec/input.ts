// Our stdin to a process elsewhere: one request at a time, so what was sent first arrives first and a process that reads
// slowly slows us down. What cannot be passed on ends the process: a truncated input must not look like a whole one.

import { fstatSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";
import type { ProcessView } from "#shared/api/process.ts";
import type { Client } from "../../sdk/client.ts";
import type { Failure } from "../../sdk/failure.ts";

const stdinFd = 0;
const againMs = 300;
const fullMs = 50;

/** Whether there is something to pass on: a pipe or file always, a terminal only when asked, a device never. */
export function hasInput(isInteractive: boolean): boolean {
  if (isatty(stdinFd)) return isInteractive;
  try {
    const stat = fstatSync(stdinFd);
    return stat.isFIFO() || stat.isFile() || stat.isSocket();
  } catch {
    // No descriptor at all (`<&-`): nothing to read.
    return false;
  }
}

export type Target = { client: Client; id: string; signal: AbortSignal };

/** Passes all of our stdin on, then its end; answers why it could not, or nothing when it is through. */
export async function passInput(target: Target, { eof }: { eof: boolean }): Promise<Failure | undefined> {
  const input = process.stdin;
  const leave = (): void => void input.destroy();
  target.signal.addEventListener("abort", leave, { once: true });
  try {
    for await (const chunk of input) {
      const failure = await passBytes(target, Buffer.from(chunk));
      if (failure !== undefined) return failure;
    }
    const ended = eof ? await send(target, { eof }) : undefined;
    return typeof ended === "number" ? undefined : ended;
  } catch (error) {
    // Destroyed because there is nobody left to read it; anything else is a file that cannot be read.
    if (target.signal.aborted) return undefined;
    throw error;
  } finally {
    leave();
  }
}

// A pipe takes what it has room for; the rest waits until the process has read some of it.
async function passBytes(target: Target, bytes: Buffer): Promise<Failure | undefined> {
  let rest = bytes;
  while (rest.length > 0) {
    const taken = await send(target, { b64: rest.toString("base64") });
    if (typeof taken !== "number") return taken;
    rest = rest.subarray(taken);
    if (rest.length > 0 && taken === 0) await pause(target.signal, fullMs);
  }
  return undefined;
}

async function send(target: Target, body: { b64: string } | { eof: true }): Promise<number | Failure> {
  const { client, id, signal } = target;
  const path = `/v1/processes/${encodeURIComponent(id)}/stdin`;
  for (let attempt = 0; ; attempt++) {
    const answer = await client.request<{ writtenBytes: number }>("POST", path, { body, signal });
    if (answer.ok) return answer.value.writtenBytes;
    if (signal.aborted || !(await isUnsent(target, answer.failure.code, attempt))) return answer.failure;
    await pause(signal, answer.failure.retryAfterMs ?? againMs);
  }
}

const pause = (signal: AbortSignal, ms: number): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);

// Only where the bytes certainly went nowhere, and may arrive later, are they sent again.
async function isUnsent({ client, id }: Target, code: Failure["code"], attempt: number): Promise<boolean> {
  if (code === "node_offline" || code === "rate_limited" || code === "queue_full") return true;
  if (code !== "process_not_running") return false;
  const found = await client.request<ProcessView>("GET", `/v1/processes/${encodeURIComponent(id)}`);
  const status = found.ok ? found.value.status : "lost";
  // It may have begun to run between the two requests; told twice, its stdin is closed.
  return status === "queued" || status === "starting" || (status === "running" && attempt === 0);
}
