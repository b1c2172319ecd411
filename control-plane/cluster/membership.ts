import { pause } from "#shared/pause.ts";
import type { Bus } from "../bus/bus.ts";
import type { Log } from "../needs.ts";
import type { Instances, Notices } from "../store/cluster.ts";
import type { SharedClock } from "./clock.ts";
import { OtherKeyError, type SameKey } from "./same-key.ts";

/**
 * This instance among those that share its database: it says that it lives every few seconds, knows who else does, and buries
 * the dead, whose nodes are then free. The rows are the truth; "instances" on the bus says that one came or went.
 *
 * While the database is away nobody can say that it lives. So an instance buries others only after it has spoken for longer
 * than the others have time to speak again; and one that was taken for dead lets go of what it held and comes back.
 */
export type MembershipNeeds = {
  instances: Instances;
  notices: Pick<Notices, "send">;
  bus: Bus;
  clock: SharedClock;
  key: SameKey;
  log: Log;
  self: { id: string; place: string; version: string };
  /** Nodes are free that were held by an instance that is gone. */
  onFreed(nodeIds: string[]): void;
  /** These instances are gone. */
  onGone(instances: string[]): void;
  /** This instance stood still for so long that the others may have given up writing to it. */
  onSilence(): void;
  /** The others took this one for dead: what it held is no longer its own. */
  onBuried(): void;
};

export const beatEveryMs = 4000;
/** Who did not beat for so long may be taken for dead. */
const silentMs = 12_000;
/** How long this instance must have spoken without a break before it buries others. */
const steadyMs = 20_000;

export class Membership {
  readonly #needs: MembershipNeeds;
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  #peers = new Set<string>();
  #steadySince: number | undefined;
  #beatenAt: number | undefined;
  #beating: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #joined = false;

  constructor(needs: MembershipNeeds) {
    this.#needs = needs;
    // Before it has joined it is not among them, and there is nothing to say.
    this.#unsubscribe = needs.bus.subscribe("instances", () => {
      if (this.#joined) this.#looking = this.#looking.then(() => this.beat());
    });
  }

  get hasPeers(): boolean {
    return this.#peers.size > 0;
  }

  /** Whoever sends notices is there. */
  heardOf(instance: string): void {
    this.#peers.add(instance);
  }

  /** Joins; `alone` says that nobody else can be there (the database belongs to this process): whoever was, is dead. */
  async join({ alone }: { alone: boolean }): Promise<void> {
    const { instances, self, notices } = this.#needs;
    await instances.register(self);
    if (alone) this.#needs.onFreed(await instances.remove({ allBut: self.id }));
    await this.#beat();
    if (!(await this.#needs.key.holds()) && this.hasPeers) throw new OtherKeyError();
    await notices.send(self.id, ["instances"]);
    this.#joined = true;
    this.#beating = this.#keepBeating();
  }

  /** Says that this instance lives and looks who else does. */
  async beat(): Promise<void> {
    try {
      await this.#beat();
      await this.#needs.key.keep();
    } catch (error) {
      this.#steadySince = undefined;
      this.#needs.log.warn("instance.not_heard", { error });
    }
  }

  async leave(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    await this.#beating;
    await this.#looking;
    const { instances, notices, self, log } = this.#needs;
    try {
      await instances.remove({ only: self.id });
      if (this.hasPeers) await notices.send(self.id, ["instances"]);
    } catch (error) {
      // The others find out by themselves.
      log.warn("instance.left_unsaid", { error });
    }
  }

  async #keepBeating(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await pause(beatEveryMs, this.#closing.signal);
      if (!this.#closing.signal.aborted) await this.beat();
    }
  }

  async #beat(): Promise<void> {
    const { instances, clock, self } = this.#needs;
    await clock.set(() => instances.time());
    const alive = await instances.beat(self.id);
    const isBuried = alive === undefined;
    if (isBuried) await instances.register(self);
    const isSilent = performance.now() - (this.#beatenAt ?? Infinity) > silentMs;
    this.#beatenAt = performance.now();
    if (isBuried || isSilent) await this.#comeBack(isBuried);
    if (isBuried) return;
    this.#know(new Set(alive.filter((id) => id !== self.id)));
    this.#steadySince ??= performance.now();
    if (performance.now() - this.#steadySince >= steadyMs) await this.#bury();
  }

  /** The others hear of this instance before it looks at what it missed. */
  async #comeBack(isBuried: boolean): Promise<void> {
    const { self, notices, log, onBuried, onSilence } = this.#needs;
    this.#steadySince = undefined;
    log.warn(isBuried ? "instance.buried" : "instance.stood_still", { instance: self.id });
    await notices.send(self.id, ["instances"]);
    onSilence();
    if (isBuried) onBuried();
  }

  #know(peers: Set<string>): void {
    const gone = [...this.#peers].filter((id) => !peers.has(id));
    this.#peers = peers;
    if (gone.length > 0) this.#needs.onGone(gone);
  }

  async #bury(): Promise<void> {
    const { instances, log, bus } = this.#needs;
    const { instances: dead, nodes } = await instances.bury();
    if (dead.length === 0 && nodes.length === 0) return;
    log.warn("instance.died", { instances: dead, nodes: nodes.length });
    this.#needs.onFreed(nodes);
    bus.publish("instances");
  }
}
