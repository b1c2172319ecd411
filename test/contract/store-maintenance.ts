import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { NewProcess, Store } from "../../control-plane/store/store.ts";
import {
  after,
  ending,
  enrolledNode,
  inserted,
  newProcess,
  noon,
  processOf,
  report,
  taken as reported,
  type OpenStore,
} from "./store-samples.ts";

const forEver = { reason: "new disk", deadlineAt: null };
const leaseFor = (leaseId: string, ms: number, change: { heldId?: string; now?: Date } = {}) => {
  const { heldId, now = noon } = change;
  return { leaseId, heldId, reason: "kernel", now, expiresAt: after(ms, now) };
};

export function maintenanceContract(store: OpenStore): void {
  const nodes = () => store().nodes;
  const processes = () => store().processes;
  const outcomeOf = async (start: NewProcess) => (await processes().insert(start)).outcome;
  const stored = async (nodeId: string) =>
    (await processes().list({ nodeId, limit: 200 })).map(({ id }) => id);
  const queued = (nodeId: string, leaseId?: string) =>
    inserted(store(), { nodeId, status: "queued", ifOffline: "queue", leaseId });
  const taken = async (nodeId: string, now = noon) =>
    (await processes().takeQueued(nodeId, 10, now)).map(({ id }) => id);

  describe("a node that drains", () => {
    it("says so until it is resumed, by the last reason and deadline", async () => {
      const { id } = await enrolledNode(store());
      expect(await nodes().find(id)).toMatchObject({ drainReason: null, drainDeadlineAt: null });
      await nodes().setDrain(id, { reason: "first", deadlineAt: after(1000) });
      expect(await nodes().setDrain(id, forEver)).toMatchObject({
        drainReason: "new disk",
        drainDeadlineAt: null,
      });
      await nodes().setDrain(id, null);
      expect(await nodes().setDrain(id, null)).toMatchObject({ drainReason: null });
      expect(await nodes().setDrain(newId("node"), forEver)).toBeUndefined();
    });

    it("takes no start and stores nothing of it, not even its key; a repeat of a key seen before attaches", async () => {
      const { id: nodeId } = await enrolledNode(store());
      const before = await inserted(store(), { nodeId, key: "before" });
      const late = newProcess({ nodeId, key: "late" });
      await nodes().setDrain(nodeId, forEver);
      for (const status of ["starting", "queued"] as const)
        expect(await processes().insert(newProcess({ nodeId, status }))).toEqual({
          outcome: "held",
          hold: { by: "drain", reason: "new disk", deadlineAt: null },
        });
      expect(await outcomeOf(late)).toBe("held");
      expect(await outcomeOf(newProcess({ nodeId, key: "before" }))).toBe("attached");
      expect(await outcomeOf(newProcess({ nodeId, key: "before", digest: "other" }))).toBe("mismatch");
      expect(await stored(nodeId)).toEqual([before.id]);
      await nodes().setDrain(nodeId, null);
      expect(await outcomeOf(late)).toBe("inserted");
    });

    it("hands out nothing that is queued until it is resumed", async () => {
      const { id: nodeId } = await enrolledNode(store());
      const row = await queued(nodeId);
      await nodes().setDrain(nodeId, forEver);
      expect(await taken(nodeId)).toEqual([]);
      expect((await processOf(store(), row.id)).status).toBe("queued");
      await nodes().setDrain(nodeId, null);
      expect(await taken(nodeId)).toEqual([row.id]);
    });
  });

  describe("a drain past its deadline", () => {
    const live = async (nodeId: string, status: "running" | "starting") => {
      const { id } = await inserted(store(), { nodeId, launch: { graceMs: 700 } });
      await reported(store(), nodeId, [report(id, 1, { status })]);
      return id;
    };
    const asked = async (nodeId: string, now: Date) =>
      (await processes().stopDrained(now)).filter((row) => row.nodeId === nodeId);

    it("asks what lives there to stop with its own grace, survivors too, once, and leaves the queue alone", async () => {
      const [node, other] = [await enrolledNode(store()), await enrolledNode(store())];
      const [running, starting] = [await live(node.id, "running"), await live(node.id, "starting")];
      const survived = await inserted(store(), { nodeId: node.id });
      await reported(store(), node.id, [ending(survived.id, 1, { survivors: [{ pid: 1, command: "x" }] })]);
      const waiting = await queued(node.id);
      const elsewhere = await live(other.id, "running");
      await nodes().setDrain(node.id, { reason: "r", deadlineAt: after(1000) });
      await nodes().setDrain(other.id, forEver);
      expect(await asked(node.id, after(999))).toEqual([]);
      const both = await Promise.all([asked(node.id, after(1000)), asked(node.id, after(1000))]);
      const stop = (graceMs: number) => ({ graceMs, reason: "node_drained" });
      expect(both.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
        [
          { id: running, nodeId: node.id, stop: stop(700) },
          { id: starting, nodeId: node.id, stop: stop(700) },
          { id: survived.id, nodeId: node.id, stop: stop(5000) },
        ].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
      expect(await asked(node.id, after(2000))).toEqual([]);
      expect(await processOf(store(), running)).toMatchObject({ status: "stopping", stop: stop(700) });
      expect(await processOf(store(), starting)).toMatchObject({ status: "starting", stop: stop(700) });
      expect(await processOf(store(), survived.id)).toMatchObject({ status: "exited", stop: stop(5000) });
      expect(await processOf(store(), waiting.id)).toMatchObject({ status: "queued", stop: null });
      expect(await processOf(store(), elsewhere)).toMatchObject({ status: "running", stop: null });
    });

    it("asks again what should be gone for long, and shortens the grace of a stop that came before", async () => {
      const node = await enrolledNode(store());
      const [patient, deaf] = [await live(node.id, "running"), await live(node.id, "running")];
      await processes().requestStop(patient, { graceMs: 600_000, reason: "stopped", now: noon });
      await nodes().setDrain(node.id, { reason: "r", deadlineAt: after(1000) });
      const stops = (await asked(node.id, after(1000))).map(({ id, stop }) => [id, stop]);
      expect(Object.fromEntries(stops)).toEqual({
        [patient]: { graceMs: 700, reason: "stopped" },
        [deaf]: { graceMs: 700, reason: "node_drained" },
      });
      expect(await asked(node.id, after(1000 + 700 + 29_999))).toEqual([]);
      expect((await asked(node.id, after(1000 + 700 + 30_000))).map(({ id }) => id).toSorted()).toEqual(
        [patient, deaf].toSorted(),
      );
    });
  });

  describe("a node that is leased", () => {
    it("takes only starts that name the lease, until the moment it is over, cleared or not", async () => {
      const { id: nodeId } = await enrolledNode(store());
      await nodes().lease(nodeId, leaseFor("lease_1", 1000));
      const start = (change: Parameters<typeof newProcess>[0]) => newProcess({ nodeId, ...change });
      expect(await processes().insert(start({}))).toEqual({
        outcome: "held",
        hold: { by: "lease", reason: "kernel", expiresAt: after(1000) },
      });
      expect(await outcomeOf(start({ leaseId: "lease_0", key: "k" }))).toBe("held");
      expect(await outcomeOf(start({ leaseId: "lease_1", key: "k" }))).toBe("inserted");
      expect(await outcomeOf(start({ createdAt: after(999) }))).toBe("held");
      expect(await outcomeOf(start({ createdAt: after(1000) }))).toBe("inserted");
      expect(await outcomeOf(start({ createdAt: after(1000), leaseId: "lease_1" }))).toBe("inserted");
    });

    it("hands out of its queue what came with the lease, and the rest when it is over", async () => {
      const { id: nodeId } = await enrolledNode(store());
      const others = await queued(nodeId);
      await nodes().lease(nodeId, leaseFor("lease_1", 1000));
      const own = await queued(nodeId, "lease_1");
      expect(await taken(nodeId, after(1))).toEqual([own.id]);
      await processes().putBack([await processOf(store(), own.id)], noon);
      expect(await taken(nodeId, after(2))).toEqual([own.id]);
      expect(await taken(nodeId, after(999))).toEqual([]);
      expect(await taken(nodeId, after(1000))).toEqual([others.id]);
    });

    it("is drained for its lease, too", async () => {
      const { id: nodeId } = await enrolledNode(store());
      await nodes().lease(nodeId, leaseFor("lease_1", 1000));
      const own = await queued(nodeId, "lease_1");
      await nodes().setDrain(nodeId, forEver);
      expect(await processes().insert(newProcess({ nodeId, leaseId: "lease_1" }))).toMatchObject({
        hold: { by: "drain" },
      });
      expect(await taken(nodeId)).not.toContain(own.id);
    });

    it("is leased to one of many that come at once", async () => {
      const { id } = await enrolledNode(store());
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, n) => nodes().lease(id, leaseFor(`lease_${n}`, 1000))),
      );
      expect(all.filter((one) => one?.outcome === "leased")).toHaveLength(1);
      expect(all.filter((one) => one?.outcome === "taken")).toHaveLength(7);
    });

    it("is renewed by who has the lease, and free for anybody when that is over", async () => {
      const { id } = await enrolledNode(store());
      expect(await nodes().lease(newId("node"), leaseFor("lease_1", 1))).toBeUndefined();
      expect(await nodes().lease(id, leaseFor("lease_1", 1000))).toMatchObject({ outcome: "leased" });
      const renewal = leaseFor("lease_2", 5000, { heldId: "lease_1", now: after(500) });
      expect(await nodes().lease(id, renewal)).toMatchObject({
        outcome: "renewed",
        node: { leaseId: "lease_1", leaseReason: "kernel", leaseExpiresAt: after(5500) },
      });
      const late = leaseFor("lease_3", 10, { heldId: "lease_1", now: after(5500) });
      expect(await nodes().lease(id, late)).toMatchObject({
        outcome: "leased",
        node: { leaseId: "lease_3" },
      });
    });

    it("is released by its lease or by force, and never by a lease that is over", async () => {
      const { id } = await enrolledNode(store());
      const release = (heldId?: string) => nodes().release(id, { heldId, now: noon });
      expect(await release("lease_1")).toMatchObject({ outcome: "released" });
      await nodes().lease(id, leaseFor("lease_2", 1000));
      expect(await release("lease_1")).toMatchObject({ outcome: "other", node: { leaseId: "lease_2" } });
      expect(await release("lease_2")).toMatchObject({
        outcome: "released",
        node: { leaseId: null, leaseReason: null, leaseExpiresAt: null },
      });
      await nodes().lease(id, leaseFor("lease_3", 1000));
      expect(await release()).toMatchObject({ outcome: "released", node: { leaseId: null } });
      expect(await nodes().release(newId("node"), { heldId: undefined, now: noon })).toBeUndefined();
    });

    it("is found when its lease is over, and only then cleared", async () => {
      const { id } = await enrolledNode(store());
      await nodes().lease(id, leaseFor("lease_1", 1000));
      expect(await nodes().leasesOver(after(999))).not.toContain(id);
      await nodes().clearLeases([id], after(999));
      expect(await nodes().find(id)).toMatchObject({ leaseId: "lease_1" });
      expect(await nodes().leasesOver(after(1000))).toContain(id);
      await nodes().clearLeases([id], after(1000));
      expect(await nodes().find(id)).toMatchObject({ leaseId: null, leaseExpiresAt: null });
      expect(await nodes().leasesOver(after(1000))).not.toContain(id);
    });
  });

  describe("the key of a node", () => {
    it("is replaced only while it is the one that was seen, in the session that was seen", async () => {
      const { id, keyHash: from } = await enrolledNode(store());
      const to = "b".repeat(64);
      const hello = {
        instance: "inst_a",
        instanceId: "i",
        machineId: "m",
        bootId: "b",
        facts: {},
        clockSkewMs: null,
        now: noon,
      };
      expect(await nodes().connected(id, hello)).toMatchObject({ epoch: 1, keyHash: from });
      expect(await nodes().rotateKey(id, { from: to, to: from, epoch: 1 })).toBe(false);
      expect(await nodes().rotateKey(id, { from, to, epoch: 0 })).toBe(false);
      expect(await nodes().keyHash(id)).toBe(from);
      expect(await nodes().rotateKey(id, { from, to, epoch: 1 })).toBe(true);
      expect(await nodes().keyHash(id)).toBe(to);
    });
  });

  describe("the counts of a node", () => {
    const step = fc.record({ act: fc.nat(), which: fc.nat() });

    it("are what lives and what waits there, whatever happened in between", () =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
          const history = new History(store(), (await enrolledNode(store())).id);
          for (const { act, which } of steps) {
            await history.go(act, which);
            const { running, queued: waiting } = (await nodes().find(history.nodeId)) ?? {};
            expect({ running, waiting }).toEqual(history.counts);
          }
        }),
        { numRuns: 8 },
      ));
  });
}

type Fate = "queued" | "unheard" | "running" | "survived" | "gone";

/** What happens to the processes of one node, in the store and in a table beside it. */
class History {
  readonly nodeId: string;
  readonly #store: Store;
  readonly #fates = new Map<string, Fate>();
  readonly #stopped = new Set<string>();
  #revision = 0;

  constructor(store: Store, nodeId: string) {
    this.#store = store;
    this.nodeId = nodeId;
  }

  get counts(): { running: number; waiting: number } {
    const fates = [...this.#fates.values()];
    const waiting = fates.filter((fate) => fate === "queued").length;
    return { waiting, running: fates.filter((fate) => fate !== "gone").length - waiting };
  }

  /** One of the things that may happen, to one of the processes where it is about one. */
  async go(act: number, which: number): Promise<void> {
    const ids = [...this.#fates.keys()];
    const id = ids[which % Math.max(ids.length, 1)] ?? "";
    const fate = this.#fates.get(id);
    const isThere = fate === "unheard" || fate === "running";
    const acts = [
      () => this.#start("queued", "queued"),
      () => this.#start("starting", "unheard"),
      () => this.#take(),
      () => (fate === "unheard" ? this.#putBack(id) : undefined),
      () => (isThere ? this.#report(id, "running", { status: "running" }) : undefined),
      () => (isThere ? this.#report(id, "survived", { ...exit, survivors }) : undefined),
      () => (isThere || fate === "survived" ? this.#report(id, "gone", exit) : undefined),
      () => this.#stop(id),
    ];
    await acts[act % acts.length]?.();
  }

  async #start(status: "queued" | "starting", fate: Fate): Promise<void> {
    const row = await inserted(this.#store, { nodeId: this.nodeId, status, ifOffline: "queue" });
    this.#fates.set(row.id, fate);
  }

  async #take(): Promise<void> {
    for (const { id } of await this.#store.processes.takeQueued(this.nodeId, 2, noon))
      this.#fates.set(id, "unheard");
  }

  async #putBack(id: string): Promise<void> {
    await this.#store.processes.putBack([await processOf(this.#store, id)], noon);
    if (this.#stopped.has(id)) return void this.#fates.set(id, "gone");
    this.#fates.set(id, "queued");
  }

  async #report(id: string, fate: Fate, change: Parameters<typeof report>[2]): Promise<void> {
    await reported(this.#store, this.nodeId, [report(id, ++this.#revision, change)]);
    this.#fates.set(id, fate);
  }

  async #stop(id: string): Promise<void> {
    await this.#store.processes.requestStop(id, { graceMs: 1, reason: "stopped", now: noon });
    if (this.#fates.get(id) === "queued") this.#fates.set(id, "gone");
    this.#stopped.add(id);
  }
}

const exit = { status: "exited", exitCode: 0 } as const;
const survivors = [{ pid: 1, command: "x" }];
