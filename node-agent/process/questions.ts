import { setTimeout as sleep } from "node:timers/promises";
import type { SignalName } from "#shared/signals.ts";
import type { StreamName } from "#shared/streams.ts";
import type { EngineAnswer, EngineRequest, FollowedChunk, Follower } from "../engine.ts";
import type { Child } from "./child.ts";
import { hasStream, type ProcessFolder, processFolder } from "./folder.ts";
import { FileFollower } from "./follower.ts";
import { listeningPorts } from "./ports.ts";
import { answerRead } from "./reading.ts";
import { grep } from "./search.ts";
import { Stdin } from "./stdin.ts";
import { waitFor } from "./wait.ts";

const spawnedWithinMs = 2000;
const notRunning: EngineAnswer = {
  error: { code: "process_not_running", message: "nothing of this process is alive" },
};

/** What can be asked of one process: of one that lives, of its child; of its output, of its folder, also long after its end. */
export class Questions {
  #procs: string;
  #child: (id: string) => Child | undefined;
  #stdin = new WeakMap<Child, Stdin>();

  constructor(procs: string, child: (id: string) => Child | undefined) {
    this.#procs = procs;
    this.#child = child;
  }

  async signal(id: string, signal: SignalName, scope: "tree" | "leader"): Promise<EngineAnswer> {
    const child = this.#child(id);
    if (!child?.lives) return notRunning;
    const outcome = await child.signal(signal, scope);
    if (outcome === "gone") return notRunning;
    if (outcome === "not_permitted")
      return { error: { code: "conflict", message: "the agent's user may not signal these processes" } };
    return { value: {} };
  }

  stdin(id: string, bytes: Uint8Array, eof: boolean): Promise<EngineAnswer> {
    const child = this.#child(id);
    if (!child || child.phase === "ended") return Promise.resolve(notRunning);
    const stdin = this.#stdin.get(child) ?? new Stdin(child);
    this.#stdin.set(child, stdin);
    return stdin.write(bytes, eof);
  }

  extend(id: string, timeoutMs: number): Promise<EngineAnswer> {
    const child = this.#child(id);
    if (!child || child.phase === "ended") return Promise.resolve(notRunning);
    if (child.extend(timeoutMs)) return Promise.resolve({ value: {} });
    return Promise.resolve({
      error: {
        code: "invalid_request",
        message: "timeoutMs counts from the start, and that much has passed",
      },
    });
  }

  async read(request: EngineRequest<"read">): Promise<EngineAnswer> {
    return this.#withStream(request, (folder) => answerRead(folder, request));
  }

  async grep(request: EngineRequest<"grep">, signal: AbortSignal): Promise<EngineAnswer> {
    return this.#withStream(request, (folder) => grep({ ...request, folder }, signal));
  }

  async wait(request: EngineRequest<"wait">, signal: AbortSignal): Promise<EngineAnswer> {
    const child = this.#child(request.id);
    return this.#withStream(request, (folder) =>
      waitFor(
        { ...request, folder },
        {
          follow: (stream, from, onChunk) => new FileFollower(folder, stream, from, onChunk),
          membersOf: () => child?.members() ?? [],
          ended: child?.ended ?? AbortSignal.abort(),
          signal,
        },
      ),
    );
  }

  ports(id: string): Promise<EngineAnswer> {
    const child = this.#child(id);
    if (!child?.lives) return Promise.resolve(notRunning);
    return Promise.resolve({ value: { ports: listeningPorts(child.members()) } });
  }

  async #withStream(
    request: { id: string; stream: StreamName },
    answer: (folder: ProcessFolder) => Promise<EngineAnswer>,
  ): Promise<EngineAnswer> {
    const folder = processFolder(this.#procs, request.id);
    if (hasStream(folder, request.stream)) return answer(folder);
    await this.#spawned(request.id, () => hasStream(folder, request.stream));
    if (hasStream(folder, request.stream)) return answer(folder);
    return { error: { code: "not_found", message: "the node keeps no output of this process" } };
  }

  /** A start that waits its turn has written nothing yet. */
  async #spawned(id: string, shown: () => boolean): Promise<void> {
    const until = performance.now() + spawnedWithinMs;
    while (this.#child(id)?.phase === "claimed" && !shown() && performance.now() < until) await sleep(5);
  }

  follow(
    id: string,
    stream: StreamName,
    from: number,
    send: (chunk: FollowedChunk) => boolean,
  ): Follower | undefined {
    const folder = processFolder(this.#procs, id);
    if (!hasStream(folder, stream) && !this.#child(id)) return undefined;
    return new FileFollower(folder, stream, from, send);
  }
}
