import { mkdirSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { SignalName } from "#shared/signals.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import type { EndReason } from "#shared/process-state.ts";
import type {
  Engine,
  EngineAnswer,
  EngineRequest,
  FollowedChunk,
  Follower,
  InventoryItem,
} from "../engine.ts";
import { newCgroup, removeCgroup } from "./cgroup.ts";
import { Child, type ChildNeeds } from "./child.ts";
import { canceled } from "./ending.ts";
import { baseEnvironment, commandEnvironment } from "./environment.ts";
import { hasStream, type ProcessFolder, processFolder } from "./folder.ts";
import { FileFollower } from "./follower.ts";
import { dropEnds, noteIntent } from "./intents.ts";
import { launchWrapper } from "./launch.ts";
import { cwdRefusal, diskRefusal, spawnRefusal } from "./launching.ts";
import { listeningPorts } from "./ports.ts";
import { answerRead } from "./reading.ts";
import type { Ending, Spec } from "./record.ts";
import { recall, recover, specOf } from "./recovery.ts";
import { reap } from "./retention.ts";
import { grep } from "./search.ts";
import { Stdin } from "./stdin.ts";
import { Ticker } from "./ticker.ts";
import { turns } from "./turns.ts";
import { waitFor } from "./wait.ts";

/**
 * All processes of this node. In memory are those that live and those whose ending is not stored yet; everything else is
 * read from its folder when it is asked for.
 *
 * Order of a start: the folder is made (the claim), the start is confirmed, then it waits its turn to be spawned. A stop
 * that comes in between ends it as canceled; a stop for an id never seen makes the folder itself, so that a start that
 * comes later finds it.
 */
export type SupervisorNeeds = {
  /** `<data>/procs`. */
  procs: string;
  bootId: string;
  /** Grows with every start of the agent. */
  generation: number;
  nodeName(): string;
  /** Where commands run when the start names no folder. */
  cwd: string;
  /** A cgroup v2 folder that is the agent's to use. */
  cgroup?: string | undefined;
  /** The shell that runs wrappers. */
  shell?: string;
  retentionMs?: number;
};

const startsAtOnce = 4;
const hourMs = 3_600_000;
const revisionsPerGeneration = 1e9;

export class Supervisor implements Engine {
  onReport: (id: string) => void = () => undefined;
  onAccepted: (id: string) => void = () => undefined;
  #needs: SupervisorNeeds;
  #children = new Map<string, Child>();
  #stdin = new WeakMap<Child, Stdin>();
  #inTurn = turns(startsAtOnce);
  #ticker = new Ticker(() => this.#children.values());
  #revision: number;
  #childNeeds: ChildNeeds;
  #reaper: NodeJS.Timeout;
  #closed = false;

  constructor(needs: SupervisorNeeds) {
    this.#needs = needs;
    this.#revision = needs.generation * revisionsPerGeneration;
    this.#childNeeds = {
      bootId: needs.bootId,
      nextRevision: () => ++this.#revision,
      changed: (child) => this.#changed(child),
    };
    mkdirSync(needs.procs, { recursive: true, mode: 0o700 });
    for (const child of recover(needs.procs, this.#childNeeds, needs.cgroup)) this.#keep(child);
    const retentionMs = needs.retentionMs ?? hourMs;
    this.#reaper = setInterval(() => reap(needs.procs, retentionMs), Math.min(retentionMs, hourMs / 6));
    this.#reaper.unref();
    reap(needs.procs, retentionMs);
  }

  #keep(child: Child): void {
    this.#children.set(child.id, child);
    this.#ticker.wake();
  }

  #changed(child: Child): void {
    if (child.lives) this.#ticker.wake();
    this.onReport(child.id);
  }

  inventory(): InventoryItem[] {
    return [...this.#children.values()].map((child) => ({
      id: child.id,
      status: child.status,
      revision: child.revision,
    }));
  }

  start(launch: Launch): void {
    const folder = processFolder(this.#needs.procs, launch.id);
    const claimed = this.#children.has(launch.id) ? "taken" : claim(folder);
    if (claimed === "taken") return this.#startAgain(launch.id);
    const child = new Child(folder, this.#spec(launch), this.#childNeeds);
    this.#keep(child);
    this.onAccepted(launch.id);
    if (claimed) return child.conclude(claimed);
    this.#inTurn(() => this.#launch(child, launch));
  }

  /** A start that came before: it is confirmed, and what is known of it said again. */
  #startAgain(id: string): void {
    const known = this.#known(id);
    this.onAccepted(id);
    known?.reportAgain();
  }

  /** A process in memory, or one that ended and was stored, read from its folder. */
  #known(id: string): Child | undefined {
    const child = this.#children.get(id);
    if (child) return child;
    const ended = recall(processFolder(this.#needs.procs, id), this.#childNeeds);
    if (ended) this.#keep(ended);
    return ended;
  }

  #spec(launch: Launch): Spec {
    const {
      id,
      chatId,
      output,
      timeoutMs,
      idleTimeoutMs,
      idleOn,
      graceMs,
      logBytes,
      outputBytes,
      keepDescendants,
    } = launch;
    const stdin = typeof launch.stdin === "object" ? "text" : launch.stdin;
    const cwd = launch.cwd ?? this.#needs.cwd;
    return {
      id,
      bootId: this.#needs.bootId,
      chatId,
      cwd,
      output,
      stdin,
      timeoutMs,
      idleTimeoutMs,
      idleOn,
      graceMs,
      logBytes,
      outputBytes,
      keepDescendants,
    };
  }

  async #launch(child: Child, launch: Launch): Promise<void> {
    const base = await baseEnvironment();
    if (this.#closed) return;
    if (child.canceledBeforeStart) return child.conclude(canceled);
    const refusal = cwdRefusal(child.spec.cwd) ?? diskRefusal(this.#needs.procs);
    if (refusal) return child.conclude(refusal);
    const env = commandEnvironment({
      base,
      request: launch.env,
      process: { id: launch.id, chatId: launch.chatId, nodeName: this.#needs.nodeName() },
    });
    try {
      const wrapper = launchWrapper(launch, child.folder, {
        spec: child.spec,
        env,
        shell: this.#needs.shell ?? "/bin/sh",
        path: base.PATH ?? "",
        cgroup: (child.tree.cgroup = newCgroup(this.#needs.cgroup, child.id)),
      });
      wrapper.once("error", (error) => child.conclude(spawnRefusal(error, child.spec.cwd)));
      child.spawned(wrapper);
    } catch (error) {
      child.conclude(spawnRefusal(error, child.spec.cwd));
    }
  }

  stop(id: string, stop: { graceMs: number; reason: EndReason }): void {
    const child = this.#known(id);
    if (child) return this.#end(child, stop);
    const folder = processFolder(this.#needs.procs, id);
    const fence = new Child(folder, specOf(id, { bootId: this.#needs.bootId }), this.#childNeeds);
    const refusal = claim(folder);
    this.#keep(fence);
    if (!refusal) noteIntent(folder, { kind: "end", status: "canceled", ...stop });
    fence.conclude(canceled);
  }

  #end(child: Child, stop: { graceMs: number; reason: EndReason }): void {
    if (child.phase === "ended" && !child.lives) return child.reportAgain();
    child.end({ status: "killed", ...stop });
  }

  async signal(id: string, signal: SignalName, scope: "tree" | "leader"): Promise<EngineAnswer> {
    const child = this.#children.get(id);
    if (!child?.lives) return notRunning;
    const outcome = await child.signal(signal, scope);
    if (outcome === "gone") return notRunning;
    if (outcome === "not_permitted")
      return { error: { code: "conflict", message: "the agent's user may not signal these processes" } };
    return { value: {} };
  }

  stdin(id: string, bytes: Uint8Array, eof: boolean): Promise<EngineAnswer> {
    const child = this.#children.get(id);
    if (!child || child.phase === "ended") return Promise.resolve(notRunning);
    const stdin = this.#stdin.get(child) ?? new Stdin(child);
    this.#stdin.set(child, stdin);
    return stdin.write(bytes, eof);
  }

  extend(id: string, timeoutMs: number): Promise<EngineAnswer> {
    const child = this.#children.get(id);
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
    const child = this.#children.get(request.id);
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
    const child = this.#children.get(id);
    if (!child?.lives) return Promise.resolve(notRunning);
    return Promise.resolve({ value: { ports: listeningPorts(child.members()) } });
  }

  async #withStream(
    request: { id: string; stream: StreamName },
    answer: (folder: ProcessFolder) => Promise<EngineAnswer>,
  ): Promise<EngineAnswer> {
    const folder = processFolder(this.#needs.procs, request.id);
    if (hasStream(folder, request.stream)) return answer(folder);
    const child = this.#children.get(request.id);
    // A start that has not been spawned has written nothing yet.
    if (child && child.phase === "claimed") await Promise.race([sleep(2000), ...untilSpawned(child)]);
    if (hasStream(folder, request.stream)) return answer(folder);
    return { error: { code: "not_found", message: "the node keeps no output of this process" } };
  }

  follow(
    id: string,
    stream: StreamName,
    from: number,
    send: (chunk: FollowedChunk) => boolean,
  ): Follower | undefined {
    const folder = processFolder(this.#needs.procs, id);
    if (!hasStream(folder, stream) && !this.#children.has(id)) return undefined;
    return new FileFollower(folder, stream, from, send);
  }

  pendingReports(): Report[] {
    return [...this.#children.values()].filter((child) => child.pending).map((child) => child.report());
  }

  report(id: string): Report | undefined {
    return this.#children.get(id)?.report();
  }

  acknowledged(acks: { id: string; revision: number }[]): void {
    for (const { id, revision } of acks) {
      const child = this.#children.get(id);
      child?.acknowledged(revision);
      if (child?.done) this.#drop(child);
    }
  }

  #drop(child: Child): void {
    child.close();
    removeCgroup(child.tree.cgroup);
    this.#children.delete(child.id);
  }

  forget(ids: string[]): void {
    for (const id of ids) {
      const child = this.#children.get(id);
      if (child?.lives) continue;
      if (child) this.#drop(child);
      rmSync(processFolder(this.#needs.procs, id).path, { recursive: true, force: true });
    }
  }

  /**
   * Leaves everything running for the next agent, or ends it first, until `signal` says to leave what is left; says how
   * many were left and how many ended.
   */
  async close(options: {
    stopProcesses: boolean;
    signal?: AbortSignal;
  }): Promise<{ left: number; stopped: number }> {
    const living = () => [...this.#children.values()].filter((child) => child.lives);
    const before = living().length;
    if (options.stopProcesses)
      for (const child of living())
        this.#end(child, { graceMs: child.spec.graceMs, reason: "agent_stopped" });
    while (options.stopProcesses && living().length > 0 && !options.signal?.aborted) await sleep(20);
    const left = living().length;
    if (options.stopProcesses) for (const child of living()) dropEnds(child.folder);
    this.#closed = true;
    clearInterval(this.#reaper);
    this.#ticker.close();
    for (const child of this.#children.values()) child.close();
    return { left, stopped: before - left };
  }
}

const notRunning: EngineAnswer = {
  error: { code: "process_not_running", message: "nothing of this process is alive" },
};

/** Makes the folder; `taken` where there is one, else what stands in the way is the ending of the start. */
const claim = (folder: ProcessFolder): Ending | "taken" | undefined => {
  try {
    mkdirSync(folder.path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EEXIST" ? "taken" : spawnRefusal(error, folder.path);
  }
};

/** Settles when the child shows itself or ends. */
const untilSpawned = (child: Child): Promise<void>[] => [
  new Promise((resolve) => child.ended.addEventListener("abort", () => resolve(), { once: true })),
];
