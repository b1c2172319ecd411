// Node's own inspector, to ask a control plane for what /proc cannot tell: its heap after a collection, and CPU profiles.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

type Answer = { id: number; result?: Record<string, unknown>; error?: { message: string } };

export type Heap = { heapMb: number; externalMb: number };

const bytesPerMb = 1_000_000;

/** One conversation with a program that was started with `--inspect`; it is closed after the work. */
export async function inspect<T>(url: string, work: (inspector: Inspector) => Promise<T>): Promise<T> {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)), { once: true });
  });
  try {
    return await work(new Inspector(socket));
  } finally {
    socket.close();
  }
}

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    socket.addEventListener("close", () => {
      for (const [id, settle] of this.#waiting) settle({ id, error: { message: "the program has ended" } });
    });
  }

  /** The heap after a full collection. */
  async heap(): Promise<Heap> {
    await this.ask("HeapProfiler.collectGarbage");
    const { result } = (await this.ask("Runtime.evaluate", {
      expression: "process.memoryUsage()",
      returnByValue: true,
    })) as { result: { value: { heapUsed: number; external: number } } };
    return { heapMb: result.value.heapUsed / bytesPerMb, externalMb: result.value.external / bytesPerMb };
  }

  async profile(file: string, during: () => Promise<void>): Promise<void> {
    await this.ask("Profiler.enable");
    await this.ask("Profiler.start");
    await during();
    const { profile } = await this.ask("Profiler.stop");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(profile));
  }

  async ask(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await promise;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }
}
