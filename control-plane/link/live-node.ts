import type { NodeLoad } from "#shared/api/node.ts";
import type { DownFrame, UpFrame } from "#shared/link/frames.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { LiveSign, Needs } from "../needs.ts";
import type { ProcessReport, ProcessRow } from "../store/store.ts";
import type { Admission } from "./admission.ts";
import { Alive, type InventoryItem } from "./alive.ts";
import { dispatchQueued } from "./dispatch.ts";
import { Follows } from "./follows.ts";
import { Intake } from "./intake.ts";
import { meetStranger, reconcile, type ReconcileNeeds } from "./reconcile.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { WriteReports } from "./report-writer.ts";
import { Requests } from "./requests.ts";
import type { Session } from "./session.ts";
import type { Signs } from "./signs.ts";
import type { LinkTimes } from "./times.ts";

/**
 * A node while a session holds it: its frames go to those who wait for them, what was asked of it goes down.
 * Until the inventory of the hello is compared with the rows it has no free places.
 */
export type LiveNodeNeeds = {
  needs: Needs;
  times: LinkTimes;
  write: WriteReports;
  session: Session;
  admission: Admission;
  signs: Signs;
  current: () => boolean;
  /** The node has another name now. */
  renamed: (name: string) => void;
};

type LiveFrame = Exclude<UpFrame, { type: "hello" | "goodbye" }>;

const violation = 1008;
const tryAgainLater = 1013;
/** More than any node has (`maxProcesses` is 100,000 at most, and some leave survivors): an agent that names more makes them up. */
const mostAlive = 250_000;

export class LiveNode {
  readonly alive = new Alive();
  readonly inTurn = oneAtATime();
  readonly requests: Requests;
  readonly follows: Follows;
  readonly #needs: Needs;
  readonly #session: Session;
  readonly #epoch: number;
  readonly #signs: Signs;
  readonly #intake: Intake;
  readonly #renamed: (name: string) => void;
  #name: string;
  #maxProcesses: number;
  /** Another machine, or another data folder, had the node before. */
  readonly #moved: boolean;
  /** Whether there were unfinished processes when the session began. */
  readonly #unfinished: boolean;
  #compared = false;
  /** Somebody found no free place, so something may be queued. */
  #refused = false;
  #load: NodeLoad | null = null;

  constructor({ needs, times, write, session, admission, signs, current, renamed }: LiveNodeNeeds) {
    this.#renamed = renamed;
    this.#signs = signs;
    this.#needs = needs;
    this.#session = session;
    this.#epoch = admission.epoch;
    this.#name = admission.name;
    this.#maxProcesses = admission.maxProcesses;
    this.#unfinished = admission.unfinished;
    this.#moved = admission.formerMachineId !== null;
    const send = (frame: DownFrame): boolean => session.send(frame);
    this.requests = new Requests(send);
    this.follows = new Follows(send);
    this.#intake = new Intake({
      nodeId: session.nodeId,
      log: needs.log,
      now: () => needs.now(),
      signal: session.signal,
      pauses: times.retryMs,
      current,
      send,
      epoch: admission.epoch,
      write,
      onOutdated: () => session.terminate("superseded"),
      onStored: (reports, changed) => this.#stored(reports, changed),
      onUnwanted: (id) => session.inBackground(meetStranger(this.#toReconcile, id)),
    });
  }

  get nodeId(): string {
    return this.#session.nodeId;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get name(): string {
    return this.#name;
  }

  /** What was heard of it last. */
  get sign(): LiveSign {
    const { seenAt: lastSeenAt, clockSkewMs } = this.#session;
    return { load: this.#load, lastSeenAt, clockSkewMs };
  }

  send(frame: DownFrame): boolean {
    return this.#session.send(frame);
  }

  /** Sends a start if the node has a place for it. */
  start(launch: Launch): boolean {
    return (this.alive.has(launch.id) || this.free() > 0) && this.resend(launch);
  }

  /** Sends a start that has its place already. */
  resend(launch: Launch): boolean {
    if (!this.send({ type: "start", launch })) return false;
    this.alive.sent(launch.id, this.#needs.now());
    return true;
  }

  /** Whether the agent has this process; also as long as what it has is not compared. */
  confirmed(id: string): boolean {
    return !this.#compared || this.alive.confirmed(id);
  }

  free(): number {
    const free = this.#compared ? Math.max(0, this.#maxProcesses - this.alive.count) : 0;
    this.#refused ||= free === 0;
    return free;
  }

  /** Mends what differs between the rows and the inventory, then starts what is queued. */
  async compare(inventory: InventoryItem[]): Promise<void> {
    this.alive.takeInventory(inventory);
    // Where both sides had nothing to tell there is nothing to ask the database for.
    if (this.#unfinished || inventory.length > 0)
      await reconcile(this.#toReconcile, { items: inventory, moved: this.#moved });
    this.#compared = true;
    if (this.#unfinished || this.#refused) await this.#dispatch();
  }

  /**
   * Goes on where a session left off whose memory was taken. What waited for a place there may not be known to have done so:
   * the queue is looked at once.
   */
  async resume(rows: ProcessRow[]): Promise<void> {
    this.alive.takeRows(rows);
    this.#compared = true;
    if (rows.some((row) => row.status === "queued")) await this.#dispatch();
  }

  /** Writes down what nobody but this session knows, so that its memory may be taken. */
  async rest(): Promise<void> {
    const { unreported } = this.alive;
    if (unreported.length === 0) return;
    await this.#needs.store.processes.confirm(unreported);
    this.alive.written(unreported);
  }

  /** The node's row changed: it may be deleted, held by a newer session, or take another number of processes. */
  async refresh(): Promise<"deleted" | "superseded" | undefined> {
    const found = await this.#session.persist(() => this.#needs.store.nodes.state(this.nodeId));
    if (found === undefined) return undefined;
    if (found.value === undefined) return "deleted";
    if (found.value.epoch > this.#epoch) return "superseded";
    this.#maxProcesses = found.value.maxProcesses;
    this.#name = found.value.name;
    this.#renamed(this.#name);
    // What is queued may wait for a place, or for the end of a drain or a lease.
    if (this.#compared && (this.#refused || found.value.queued)) await this.#dispatch();
    return undefined;
  }

  take(frame: LiveFrame): void {
    switch (frame.type) {
      case "ping":
        return this.#noteSign();
      case "load":
        return this.#takeLoad(frame.load);
      case "accepted":
        this.alive.accepted(frame.id);
        return this.#checkAlive();
      case "reports":
        for (const report of frame.reports) this.alive.reported(report);
        if (!this.#intake.take(frame.reports))
          this.#session.close(tryAgainLater, "reports cannot be stored now");
        return this.#checkAlive();
      case "output":
        if (!this.follows.take(frame))
          this.#needs.log.warn("follow.broken", { nodeId: this.nodeId, follow: frame.follow });
        return;
      case "reply":
        return this.requests.settle(frame);
    }
  }

  /** The session is over: ends what waits for it and stores what it said. */
  async end(): Promise<void> {
    this.requests.close();
    this.follows.close();
    this.#noteSign();
    await this.#intake.finish();
  }

  #stored(reports: ProcessReport[], changed: string[]): void {
    for (const id of changed) this.#needs.bus.publish(`process:${id}`);
    let freed = false;
    for (const report of reports) freed = this.alive.stored(report) || freed;
    if (freed && this.#refused) this.#session.inBackground(this.#dispatch());
  }

  get #toReconcile(): ReconcileNeeds {
    return { needs: this.#needs, node: this, persist: (work) => this.#session.persist(work) };
  }

  async #dispatch(): Promise<void> {
    this.#refused = false;
    await this.#session.persist(() => dispatchQueued(this.#needs, this.nodeId));
  }

  #checkAlive(): void {
    if (this.alive.count > mostAlive)
      this.#session.close(violation, `more than ${mostAlive} processes alive`);
  }

  #takeLoad(load: NodeLoad): void {
    const isFirst = this.#load === null;
    this.#load = load;
    this.#noteSign(isFirst);
  }

  #noteSign(soon = false): void {
    this.#signs.note({ nodeId: this.nodeId, epoch: this.#epoch, ...this.sign }, { soon });
  }
}
