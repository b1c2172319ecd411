import type { ChildProcess } from "node:child_process";
import { existsSync, type FSWatcher, watch } from "node:fs";
import type { SignalName } from "#shared/signals.ts";
import type { ProcessStatus } from "#shared/process-state.ts";
import type { Report } from "#shared/link/report.ts";
import { Closing } from "./closing.ts";
import { canceled, endingWithoutExit, firstEnd } from "./ending.ts";
import { factsOf, storyOf } from "./facts.ts";
import type { ProcessFolder } from "./folder.ts";
import { type EndIntent, type Intent, isAgentStop, noteIntent } from "./intents.ts";
import { killTree, type SignalOutcome, signalOne, signalTree, wakeWrapper } from "./kill.ts";
import { LimitClock } from "./limit-clock.ts";
import { maskedWords } from "./masking.ts";
import { endedByMemory, outOfMemory } from "./memory.ts";
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
import { SnapshotBook } from "./snapshot-book.ts";
import { mayHaveMembers, membersOf, newTree, type Tree } from "./tree.ts";
import { TreeKiller } from "./tree-killer.ts";

/**
 * The life of one process as the agent sees it: claimed → running → settling → ended.
 *
 * - claimed: the folder is made, the wrapper spawned or about to be; the leader has not shown itself in the record.
 * - running: the record names the leader. What happens is read from the record; events (an exit, a change of the file,
 *   a tick) only say "look".
 * - settling, ended: closing.ts. An ending is reported until the control plane has stored it, then marked so in the record.
 *
 * Order of effects: an intent is on disk before its signal goes out; an ending is in the record before it is reported.
 */
export type ChildNeeds = { bootId: string; nextRevision(): number; changed(child: Child): void };

type Phase = "claimed" | "running" | "settling" | "ended";

export class Child {
  readonly folder: ProcessFolder;
  readonly tree: Tree;
  readonly limits: LimitClock;
  readonly snapshots: SnapshotBook;
  #needs: ChildNeeds;
  #spec: Spec;
  #isRunning = false;
  #record: RunRecord | undefined;
  #intents: Intent[] = [];
  #revision: number;
  #ackedRevision = 0;
  #watcher: FSWatcher | undefined;
  #killer: TreeKiller;
  #closing: Closing;
  #life = new AbortController();

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
      leaderGone: () => this.#closing.phase !== undefined,
      ended: () => this.watchSurvivors(),
      life: this.#life.signal,
    });
    this.#closing = new Closing(this, {
      killer: this.#killer,
      life: this.#life.signal,
      renew: () => (this.#revision = needs.nextRevision()),
      report: () => needs.changed(this),
    });
  }

  get id(): string {
    return this.folder.id;
  }
  get spec(): Spec {
    return this.#spec;
  }
  get phase(): Phase {
    return this.#closing.phase ?? (this.#isRunning ? "running" : "claimed");
  }
  get revision(): number {
    return this.#revision;
  }
  get status(): ProcessStatus {
    if (this.#closing.ending) return this.#closing.ending.status;
    // A stop of the agent may be taken back, and a status never is: so it is not told before the end.
    const end = firstEnd(this.#intents);
    if (end && !isAgentStop(end)) return "stopping";
    return this.phase === "claimed" ? "starting" : "running";
  }
  /** Whether a process of it may live, survivors included. */
  get lives(): boolean {
    return this.phase !== "ended" || this.#closing.survivors.length > 0;
  }
  /** Whether the control plane has everything and nothing more will come. */
  get done(): boolean {
    return this.#closing.over && !this.pending;
  }
  /** Whether its output is still brought under its bound: its ending is told after that, with what is kept for good. */
  get bounding(): boolean {
    return this.#closing.isBounding;
  }
  get pending(): boolean {
    return this.#ackedRevision < this.#revision;
  }
  /** Aborts when the process has ended and its ending is written. */
  get ended(): AbortSignal {
    return this.#closing.ended;
  }
  /** Whether there is, or was, something to run. */
  get hasBegun(): boolean {
    return this.phase !== "claimed" || this.tree.wrapper !== null;
  }

  /** Takes charge of the wrapper this agent spawned. */
  spawned(wrapper: ChildProcess): void {
    const pid = wrapper.pid;
    if (pid !== undefined) this.tree.wrapper = { pid, startTicks: procEntry(pid)?.startTicks ?? 0 };
    this.limits.begin(uptime());
    this.#closing.awaitsExit = true;
    wrapper.once("exit", () => {
      this.#closing.awaitsExit = false;
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
    if (end) this.#killer.end(end.graceMs);
    this.#watchRecord();
    this.look();
  }

  /** Ends without ever having run. */
  conclude(ending: Ending): void {
    if (this.phase === "ended") return;
    this.#write(() => noteFinal(this.folder, this.#spec, ending));
    this.#closing.finish(ending, []);
  }

  /** An ending that an earlier agent saw, or that is known by rule. */
  restore(record: RunRecord, ending: Ending): void {
    this.#record = record;
    this.#closing.restore(ending);
  }

  /** Reads the record and goes on from what it says. */
  look(seen: { wrapperGone?: boolean } = {}): void {
    if (this.#closing.phase || this.#life.signal.aborted) return;
    const gone = seen.wrapperGone === true || (this.tree.wrapper !== null && !isAlive(this.tree.wrapper));
    // Read after the look at the wrapper: an ending written in between is not missed.
    const record = readRecord(this.folder, this.#spec);
    if (record) this.#take(record);
    if (record && !this.#closing.told && endedByMemory(record, this.#intents, this.tree.cgroup))
      this.#note(outOfMemory);
    const told = this.#closing.hear(record, this.#intents);
    if (told && this.#closing.waitsForWrapper()) return;
    if (told) return this.#leaderExited(told);
    if (!gone) return wakeWrapper(this.tree, record?.leader ?? null);
    // Nobody waits for the command any more: what is left of it is ended, so that its fate is known to be over.
    if (mayHaveMembers(this.tree)) this.#killer.sweep();
    this.#leaderExited(endingWithoutExit(record, this.#intents));
  }

  #leaderExited(ending: Ending): void {
    this.#watcher?.close();
    this.#closing.begin(ending);
  }

  #take(record: RunRecord): void {
    const news = this.phase === "claimed" && record.leader !== null;
    this.#record = record;
    this.tree.wrapper = record.wrapper ?? this.tree.wrapper;
    this.tree.keeperPid = record.keeperPid;
    if (!news) return;
    this.#isRunning = true;
    if (!record.exit) this.#changed();
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
    return maskedWords(this.folder, {
      id: this.id,
      revision: this.#revision,
      status: this.status,
      ...storyOf(factsOf(this.#spec, this.#record), this.#closing.ending, this.#needs.bootId),
      ...output,
      survivors: this.#closing.survivors,
    });
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

  /** Ends the tree with TERM, grace and KILL; a second call can only shorten the grace. What has not begun never will. */
  end(intent: Omit<EndIntent, "kind">): void {
    // An ending that is already in the record is not turned into another one.
    this.look();
    if (!this.hasBegun) return this.conclude(canceled);
    if (!this.lives) return;
    if (!this.#closing.told && !firstEnd(this.#intents)) {
      this.#note({ kind: "end", ...intent });
      if (this.phase !== "ended") this.#changed();
    }
    this.#killer.end(intent.graceMs);
  }

  #note(intent: Intent): void {
    noteIntent(this.folder, intent);
    this.#intents.push(intent);
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
    while (this.phase === "claimed" && performance.now() < until && !this.#life.signal.aborted) {
      await pause(5, this.#life.signal);
      this.look();
    }
  }

  /** Changes the hard limit, counted from the start; false when that moment has passed or the process is gone. */
  extend(timeoutMs: number): boolean {
    if (this.phase === "ended" || this.limits.elapsedMs() >= timeoutMs) return false;
    this.#spec = { ...this.#spec, timeoutMs };
    // A start that waits for its turn has no record yet: that is written with the spec as it is then.
    if (existsSync(this.folder.run)) rewriteSpec(this.folder, this.#spec);
    this.limits.change(this.#spec);
    return true;
  }

  /** Pids of the members alive now. */
  members(): number[] {
    return membersOf(this.tree).map((member) => member.pid);
  }

  /** Looks who still lives after the leader, and reports it when that changed. */
  watchSurvivors(table?: ProcTable): void {
    this.#closing.watchSurvivors(table);
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

  /** Says for the last time what it wrote, leaves the process as it is and stops looking at it. */
  leave(): void {
    if (this.snapshots.behind()) this.#changed();
    this.close();
  }

  /** Leaves the process as it is and stops looking at it. */
  close(): void {
    this.#life.abort();
    this.#watcher?.close();
  }
}
