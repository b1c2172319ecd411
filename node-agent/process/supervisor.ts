import { mkdirSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import type { EndReason } from "#shared/process-state.ts";
import { noWalls, type Walls } from "../machine/walls.ts";
import type { NodePolicy } from "../policy-file.ts";
import type { Engine, EngineAnswer, InventoryItem } from "../engine.ts";
import { cgroupOf, newCgroup, removeCgroup, sweepCgroups } from "./cgroup.ts";
import { Child, type ChildNeeds } from "./child.ts";
import { canceled } from "./ending.ts";
import { commandEnvironment, type Variables } from "./environment.ts";
import { admit, type Admitted, refusedAnswer } from "./admit.ts";
import { isProcessId, type ProcessFolder, processFolder } from "./folder.ts";
import { writeMask } from "./masking.ts";
import { noteIntent, takeBackStop } from "./intents.ts";
import { launchWrapper } from "./launch.ts";
import { cwdRefusal, diskRefusal, spawnRefusal } from "./launching.ts";
import { Questions } from "./questions.ts";
import { type Ending, specOfLaunch } from "./record.ts";
import { recall, recover, specOf } from "./recovery.ts";
import { reaper } from "./retention.ts";
import { hiddenRefusal } from "./sandbox.ts";
import { Ticker } from "./ticker.ts";
import type { Users } from "./users.ts";
import { turns } from "#shared/turns.ts";

/**
 * All processes of this node. In memory are those that live and those whose ending is not stored yet; everything else is
 * read from its folder when it is asked for.
 *
 * Order of a start: the folder is made (the claim), the node's policy is asked, the start is confirmed, then it waits its turn to be spawned. A stop
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
  /** What commands start from; a start waits for it. */
  environment: Promise<Variables>;
  /** Whom else commands may be. */
  users: Users;
  /** Where commands run when the start names no folder. */
  cwd: string;
  /** What may be started here; undefined: everything. */
  policy?: NodePolicy | undefined;
  /** What this machine can hold commands to. */
  walls?: Walls;
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
  #questions: Questions;
  #inTurn = turns(startsAtOnce);
  #ticker = new Ticker(() => this.#children.values());
  #revision: number;
  #walls: Walls;
  #childNeeds: ChildNeeds;
  #reaper: NodeJS.Timeout;
  /** Whether the agent is ending all processes: one that would begin now is canceled. */
  #stopsAll = false;
  #closed = false;

  constructor(needs: SupervisorNeeds) {
    this.#needs = needs;
    this.#questions = new Questions(needs.procs, (id) => this.#children.get(id));
    this.#revision = needs.generation * revisionsPerGeneration;
    this.#childNeeds = {
      bootId: needs.bootId,
      nextRevision: () => ++this.#revision,
      changed: (child) => this.#changed(child),
    };
    mkdirSync(needs.procs, { recursive: true, mode: 0o700 });
    for (const child of recover(needs.procs, this.#childNeeds)) this.#keep(child);
    this.#walls = needs.walls ?? noWalls;
    sweepCgroups(this.#walls.cgroup, (id) => this.#children.has(id));
    const retentionMs = needs.retentionMs ?? hourMs;
    const reap = reaper(needs.procs, retentionMs);
    this.#reaper = setInterval(reap, Math.min(retentionMs, hourMs / 6));
    this.#reaper.unref();
    reap();
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
    const claimed = this.#children.has(launch.id) ? "taken" : claim(folder, launch.masks);
    if (claimed === "taken") return this.#startAgain(launch.id);
    const admitted = admit({ ...this.#needs, walls: this.#walls }, launch);
    const { bootId } = this.#needs;
    const cgroup = cgroupOf(this.#walls.cgroup, launch.id);
    const child = new Child(folder, specOfLaunch(admitted.launch, { bootId, cgroup }), this.#childNeeds);
    this.#keep(child);
    this.onAccepted(launch.id);
    const refusal = claimed ?? (this.#stopsAll ? canceled : admitted.refusal);
    if (refusal) return child.conclude(refusal);
    void this.#inTurn(() => this.#launch(child, admitted));
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

  async #launch(child: Child, { launch, account, sandbox }: Admitted): Promise<void> {
    const base = await (account ? this.#needs.users.environment(account) : this.#needs.environment);
    if (this.#closed || child.phase === "ended") return;
    const { folder } = child;
    const hidden = sandbox && hiddenRefusal(sandbox, { folder, cwd: launch.cwd });
    const refusal = cwdRefusal(launch.cwd) ?? hidden ?? diskRefusal(this.#needs.procs);
    if (refusal) return child.conclude(refusal);
    const env = commandEnvironment({
      base,
      request: launch.env,
      process: { id: launch.id, chatId: launch.chatId, nodeName: this.#needs.nodeName() },
    });
    try {
      const wrapper = launchWrapper(launch, folder, {
        ...{ spec: child.spec, cwd: launch.cwd, account },
        sandbox: sandbox && { policy: sandbox, program: this.#walls.sandbox ?? "bwrap" },
        env,
        shell: this.#needs.shell ?? "/bin/sh",
        path: base.PATH ?? "",
        cgroup: (child.tree.cgroup = newCgroup(child.spec.cgroup, launch, this.#walls.byKernel)),
        mustJoin: this.#walls.byKernel.some((name) => launch[name] !== null),
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

  // What is asked of one process is answered in questions.ts.
  signal: Engine["signal"] = async (...asked) => this.#held() ?? this.#questions.signal(...asked);
  stdin: Engine["stdin"] = async (...asked) => this.#held() ?? this.#questions.stdin(...asked);
  extend: Engine["extend"] = async (...asked) =>
    this.#held({ timeoutMs: asked[1] }) ?? this.#questions.extend(...asked);
  read: Engine["read"] = (...asked) => this.#questions.read(...asked);
  grep: Engine["grep"] = (...asked) => this.#questions.grep(...asked);
  wait: Engine["wait"] = (...asked) => this.#questions.wait(...asked);
  ports: Engine["ports"] = (...asked) => this.#questions.ports(...asked);
  follow: Engine["follow"] = (...asked) => this.#questions.follow(...asked);

  #held = (asked: { timeoutMs?: number } = {}): EngineAnswer | undefined =>
    refusedAnswer(this.#needs.policy?.steeringRefusal(asked));

  recall(ids: string[]): Promise<EngineAnswer> {
    const known = ids.filter((id) => isProcessId(id) && this.#known(id));
    for (const id of known) this.#children.get(id)?.reportAgain();
    return Promise.resolve({ value: { known } });
  }

  pendingReports(): Report[] {
    return [...this.#children.values()]
      .filter((child) => child.pending && hasNews(child))
      .map((child) => child.report());
  }

  report(id: string): Report | undefined {
    const child = this.#children.get(id);
    return child && hasNews(child) ? child.report() : undefined;
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
   * many were left and how many ended. What they wrote until now is reported. A start that has not begun is neither: it is canceled, or comes again to the next agent.
   */
  async close(options: {
    stopProcesses: boolean;
    signal?: AbortSignal;
  }): Promise<{ left: number; stopped: number }> {
    const living = () => [...this.#children.values()].filter((child) => child.lives && child.hasBegun);
    const before = living().length;
    this.#stopsAll = options.stopProcesses;
    if (options.stopProcesses)
      for (const child of [...this.#children.values()].filter(({ lives }) => lives))
        this.#end(child, { graceMs: child.spec.graceMs, reason: "agent_stopped" });
    while (options.stopProcesses && living().length > 0 && !options.signal?.aborted) await sleep(20);
    const left = living();
    if (options.stopProcesses) for (const child of left) takeBackStop(child.folder);
    this.#closed = true;
    clearInterval(this.#reaper);
    this.#ticker.close();
    for (const child of this.#children.values()) child.leave();
    return { left: left.length, stopped: before - left.length };
  }
}

/**
 * Whether there is anything to report. Of a start that is only claimed there is not: an agent that dies now gives the claim
 * up, and only what was never reported is sent again. An ending is told once: who reports for another reason while its
 * output is brought under its bound would tell it with what is about to go.
 */
const hasNews = (child: Child): boolean => !child.bounding && child.status !== "starting";

/** Makes the folder; `taken` where there is one, else what stands in the way is the ending of the start. */
const claim = (folder: ProcessFolder, masks: string[] = []): Ending | "taken" | undefined => {
  try {
    mkdirSync(folder.path, { mode: 0o700 });
    if (masks.length > 0) writeMask(folder, masks);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EEXIST" ? "taken" : spawnRefusal(error, folder.path);
  }
};
