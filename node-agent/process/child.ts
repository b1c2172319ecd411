import type { ChildProcess } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import type { SignalName } from "#shared/signals.ts";
import type { ProcessStatus } from "#shared/process-state.ts";
import type { Survivor } from "#shared/survivor.ts";
import type { Report } from "#shared/link/report.ts";
import { boundOutput, overBound } from "./disk-bound.ts";
import { endingIn, endingWithoutRecord, firstEnd, recordGone } from "./ending.ts";
import { factsOf, storyOf } from "./facts.ts";
import type { ProcessFolder } from "./folder.ts";
import { type EndIntent, type Intent, noteIntent } from "./intents.ts";
import { killTree, type SignalOutcome, signalOne, signalTree, wakeWrapper } from "./kill.ts";
import { LimitClock } from "./limit-clock.ts";
import { isAlive, procEntry, type ProcTable, uptime } from "./proc-table.ts";
import { pause } from "#shared/pause.ts";
import {
  type Ending,
  noteAcked,
  noteFinal,
  readRecord,
  rewriteSpec,
  type RunRecord,
  type Spec,
} from "./record.ts";
import { settled } from "./settle.ts";
import { SnapshotBook } from "./snapshot-book.ts";
import { sameSurvivors, survivorsOf } from "./survivors.ts";
import { mayHaveMembers, membersOf, newTree, type Tree } from "./tree.ts";
import { TreeKiller } from "./tree-killer.ts";

/**
 * The life of one process as the agent sees it: claimed → running → settling → ended.
 *
 * - claimed: the folder is made, the wrapper spawned or about to be; the leader has not shown itself in the record.
 * - running: the record names the leader. What happens is read from the record; events (an exit, a change of the file,
 *   a tick) only say "look".
 * - settling: the leader is gone and something may live on. The ending waits until the output was quiet for 300 ms, at
 *   most 3 s, or until a kill under way has found nobody left.
 * - ended: reported until the control plane has stored it, then marked so in the record. Survivors are still watched.
 *
 * Order of effects: an intent is on disk before its signal goes out; an ending is in the record before it is reported.
 */
export type ChildNeeds = { bootId: string; nextRevision(): number; changed(child: Child): void };

type Phase = "claimed" | "running" | "settling" | "ended";

const sweepAfterMs = 2000;
/** A wrapper that has written the ending and stays (somebody stopped it) is waited for this long. */
const wrapperEndsWithinMs = 1000;

export class Child {
  readonly folder: ProcessFolder;
  readonly tree: Tree;
  readonly limits: LimitClock;
  readonly snapshots: SnapshotBook;
  #needs: ChildNeeds;
  #spec: Spec;
  #phase: Phase = "claimed";
  #record: RunRecord | undefined;
  #intents: Intent[] = [];
  #ending: Ending | undefined;
  #survivors: Survivor[] = [];
  #revision: number;
  #ackedRevision = 0;
  #watcher: FSWatcher | undefined;
  #killer: TreeKiller;
  /** The ending as it was first seen in the record, and when. */
  #told: Ending | undefined;
  #toldMs: number | undefined;
  #bounding = false;
  /** Whether the exit of a wrapper that this agent spawned is still to come. */
  #awaitsExit = false;
  #life = new AbortController();
  #ended = new AbortController();

  constructor(folder: ProcessFolder, spec: Spec, needs: ChildNeeds) {
    this.folder = folder;
    this.tree = newTree(folder.id);
    this.#spec = spec;
    this.#needs = needs;
    this.#revision = needs.nextRevision();
    this.limits = new LimitClock(spec);
    this.snapshots = new SnapshotBook(folder, spec.output);
    this.#killer = new TreeKiller(this.tree, {
      look: () => this.look(),
      leaderGone: () => this.#phase === "settling" || this.#phase === "ended",
      ended: () => this.watchSurvivors(),
      life: this.#life.signal,
    });
  }

  get id(): string {
    return this.folder.id;
  }
  get spec(): Spec {
    return this.#spec;
  }
  get phase(): Phase {
    return this.#phase;
  }
  get revision(): number {
    return this.#revision;
  }
  get status(): ProcessStatus {
    if (this.#ending) return this.#ending.status;
    if (firstEnd(this.#intents)) return "stopping";
    return this.#phase === "claimed" ? "starting" : "running";
  }
  /** Whether a process of it may live, survivors included. */
  get lives(): boolean {
    return this.#phase !== "ended" || this.#survivors.length > 0;
  }
  /** Whether the control plane has everything and nothing more will come. */
  get done(): boolean {
    return (
      this.#phase === "ended" &&
      this.#survivors.length === 0 &&
      !this.#bounding &&
      this.#ackedRevision >= this.#revision
    );
  }
  /** Whether its output is still brought under its bound: its ending is told after that, with what is kept for good. */
  get bounding(): boolean {
    return this.#bounding;
  }
  get pending(): boolean {
    return this.#ackedRevision < this.#revision;
  }
  /** Aborts when the process has ended and its ending is written. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }
  get canceledBeforeStart(): boolean {
    return firstEnd(this.#intents) !== undefined;
  }

  /** Takes charge of the wrapper this agent spawned. */
  spawned(wrapper: ChildProcess): void {
    const pid = wrapper.pid;
    if (pid !== undefined) this.tree.wrapper = { pid, startTicks: procEntry(pid)?.startTicks ?? 0 };
    this.limits.begin(uptime());
    this.#awaitsExit = true;
    wrapper.once("exit", () => {
      this.#awaitsExit = false;
      this.look({ wrapperGone: true });
    });
    wrapper.unref();
  }

  /** Takes charge of a wrapper that an earlier agent spawned. */
  adopt(record: RunRecord, intents: Intent[]): void {
    this.#intents = intents;
    // Where the wrapper is gone its pid may be somebody else's group by now.
    this.tree.rooted = record.wrapper !== null && isAlive(record.wrapper);
    this.#take(record);
    this.limits.begin(record.startedAt ?? uptime());
    if (intents.length > 0) signalTree(this.tree, "SIGCONT");
    const end = firstEnd(intents);
    if (end) this.#kill(end.graceMs);
    this.#watchRecord();
    this.look();
  }

  /** Ends without ever having run. */
  conclude(ending: Ending): void {
    if (this.#phase === "ended") return;
    this.#write(() => noteFinal(this.folder, this.#spec, ending));
    this.#finish(ending, []);
  }

  /** An ending that an earlier agent saw, or that is known by rule. */
  restore(record: RunRecord, ending: Ending): void {
    this.#record = record;
    this.#phase = "ended";
    this.#ending = ending;
    this.#ended.abort();
  }

  /** Reads the record and goes on from what it says. */
  look(seen: { wrapperGone?: boolean } = {}): void {
    if (this.#phase === "ended" || this.#phase === "settling" || this.#life.signal.aborted) return;
    const gone = seen.wrapperGone === true || (this.tree.wrapper !== null && !isAlive(this.tree.wrapper));
    // Read after the look at the wrapper: an ending written in between is not missed.
    const record = readRecord(this.folder, this.#spec);
    if (record) this.#take(record);
    // What comes after the ending was written does not change it.
    this.#told ??= record && endingIn(record, this.#intents);
    // Our own wrapper ends in a moment and its exit looks again; until then it would pass for somebody who lives on.
    if (this.#told && !(this.#awaitsExit && this.#wrapperEnds())) return this.#leaderExited(this.#told);
    if (this.#told) return;
    if (!gone) return wakeWrapper(this.tree, record?.leader ?? null);
    // Nobody waits for the command any more: what is left of it is ended, so that its fate is known to be over.
    if (mayHaveMembers(this.tree)) this.#killer.sweep();
    this.#leaderExited(this.#endingWithoutExit(record));
  }

  #wrapperEnds(): boolean {
    this.#toldMs ??= performance.now();
    return performance.now() - this.#toldMs < wrapperEndsWithinMs;
  }

  #take(record: RunRecord): void {
    const news = this.#phase === "claimed" && record.leader !== null;
    this.#record = record;
    this.tree.wrapper = record.wrapper ?? this.tree.wrapper;
    this.tree.keeperPid = record.keeperPid;
    if (!news) return;
    this.#phase = "running";
    if (!record.exit) this.#changed();
  }

  #endingWithoutExit(record: RunRecord | undefined): Ending {
    if (record?.leader || firstEnd(this.#intents)) return endingWithoutRecord(this.#intents);
    // It was there when the wrapper was spawned: somebody removed it, so how far the command came is not known.
    if (!record) return recordGone;
    return {
      status: "failed",
      reason: "spawn_error",
      detail: "the shell that starts commands could not run",
      exitCode: null,
      signal: null,
    };
  }

  /** The leader is gone: at once final when nothing lives on, else when it has settled. */
  #leaderExited(ending: Ending): void {
    this.#phase = "settling";
    this.#watcher?.close();
    if (!this.#killer.work && !mayHaveMembers(this.tree)) return this.#finish(ending, []);
    void this.#settle(ending);
  }

  async #settle(ending: Ending): Promise<void> {
    const began = performance.now();
    const life = this.#life.signal;
    await settled(this.tree, {
      size: () => this.snapshots.totalBytes(),
      killing: () => this.#killer.work,
      life,
    });
    if (life.aborted) return;
    this.#finish(ending, survivorsOf(this.tree));
    if (!this.#spec.keepDescendants && this.#survivors.length > 0) void this.#sweepLater(began);
  }

  async #sweepLater(began: number): Promise<void> {
    await pause(Math.max(0, sweepAfterMs - (performance.now() - began)), this.#life.signal);
    if (!this.#life.signal.aborted) this.#killer.sweep();
  }

  #finish(ending: Ending, survivors: Survivor[]): void {
    this.#phase = "ended";
    this.#ending = ending;
    this.#survivors = survivors;
    this.#revision = this.#needs.nextRevision();
    this.#bounding = overBound(this);
    this.#ended.abort();
    if (this.#bounding) void this.#bound();
    else this.#needs.changed(this);
  }

  /** Work under way when it ended went by an older size and the looser bound of the living: a second pass does the rest. */
  async #bound(): Promise<void> {
    await boundOutput(this);
    await boundOutput(this);
    this.#bounding = false;
    if (!this.#life.signal.aborted) this.#needs.changed(this);
  }

  /** With a full disk what cannot be written is said again after a restart. */
  #write(note: () => void): void {
    try {
      note();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOSPC" && code !== "ENOENT") throw error;
    }
  }

  #changed(): void {
    this.#revision = this.#needs.nextRevision();
    this.#needs.changed(this);
  }

  /** What is said of it now; head and tail are in it when they differ from what was acknowledged. */
  report(): Report {
    const output = this.snapshots.read(this.#revision);
    return {
      id: this.id,
      revision: this.#revision,
      status: this.status,
      ...storyOf(factsOf(this.#spec, this.#record), this.#ending, this.#needs.bootId),
      ...output,
      survivors: this.#survivors,
    };
  }

  acknowledged(revision: number): void {
    this.#ackedRevision = Math.max(this.#ackedRevision, revision);
    this.snapshots.acknowledged(revision);
    if (this.done) this.#write(() => noteAcked(this.folder));
  }

  /** Says again what is known, as to a control plane that forgot: as news, since one that did not forget stores nothing else. */
  reportAgain(): void {
    this.snapshots.acknowledged(-1);
    this.#changed();
  }

  /** Ends the tree with TERM, grace and KILL; a second call can only shorten the grace. */
  end(intent: Omit<EndIntent, "kind">): void {
    // An ending that is already in the record is not turned into another one.
    this.look();
    if (!this.lives) return;
    if (!this.#told && !firstEnd(this.#intents)) {
      this.#note({ kind: "end", ...intent });
      if (this.#phase !== "ended") this.#changed();
    }
    this.#kill(intent.graceMs);
  }

  #note(intent: Intent): void {
    noteIntent(this.folder, intent);
    this.#intents.push(intent);
  }

  #kill(graceMs: number): void {
    // Not spawned yet: whoever is about to spawn it looks at the intents first.
    if (this.#phase === "claimed" && this.tree.wrapper === null) return;
    this.#killer.end(graceMs);
  }

  /** Sends a signal to the tree or its leader; says what became of it. */
  async signal(signal: SignalName, scope: "tree" | "leader"): Promise<SignalOutcome> {
    await this.#leaderShown();
    const leader = this.#record?.leader;
    if (scope === "leader" && (!leader || !isAlive(leader))) return "gone";
    if (scope === "tree" && membersOf(this.tree).length === 0) return "gone";
    this.#note({ kind: "signal", signal });
    if (scope === "leader" && leader) return signalOne(leader, `SIG${signal}`);
    if (signal !== "KILL") return signalTree(this.tree, `SIG${signal}`);
    const left = await killTree(this.tree);
    this.watchSurvivors();
    return left.length > 0 ? "not_permitted" : "sent";
  }

  /** A process that was just started has no leader for a moment. */
  async #leaderShown(): Promise<void> {
    const until = performance.now() + 2000;
    while (this.#phase === "claimed" && performance.now() < until && !this.#life.signal.aborted) {
      await pause(5, this.#life.signal);
      this.look();
    }
  }

  /** Changes the hard limit, counted from the start; false when that moment has passed or the process is gone. */
  extend(timeoutMs: number): boolean {
    if (this.#phase === "ended" || this.limits.elapsedMs() >= timeoutMs) return false;
    this.#spec = { ...this.#spec, timeoutMs };
    rewriteSpec(this.folder, this.#spec);
    this.limits.change(this.#spec);
    return true;
  }

  /** Pids of the members alive now. */
  members(): number[] {
    return membersOf(this.tree).map((member) => member.pid);
  }

  /** Looks who still lives after the leader, and reports it when that changed. */
  watchSurvivors(table?: ProcTable): void {
    if (this.#phase !== "ended" || this.#life.signal.aborted) return;
    const now = survivorsOf(this.tree, table);
    if (sameSurvivors(now, this.#survivors)) return;
    this.#survivors = now;
    this.#changed();
  }

  /** Output grew and head and tail were not reported for a while. */
  reportOutput(): void {
    if (this.snapshots.due()) this.#changed();
  }

  #watchRecord(): void {
    try {
      this.#watcher = watch(this.folder.run, { persistent: false }, () => this.look());
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // No watch is to be had (a limit of the system): the tick looks every second.
    }
  }

  /** Leaves the process as it is and stops looking at it. */
  close(): void {
    this.#life.abort();
    this.#watcher?.close();
  }
}
