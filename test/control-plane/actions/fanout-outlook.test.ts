import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { processTemplate } from "#shared/api/process.ts";
import {
  canceling,
  fanoutNodeStatuses,
  isFinalFanout,
  isFinalNode,
  nodesOf,
  type FanoutCounts,
  type FanoutNodeStatus,
  type Share,
} from "#shared/fanout-state.ts";
import { outlookOf } from "../../../control-plane/actions/fanout-outlook.ts";
import type { FanoutPlan, FanoutRow } from "../../../control-plane/store/store.ts";

const noon = new Date("2026-03-01T12:00:00.000Z");
const after = (ms: number): Date => new Date(noon.getTime() + ms);
const none: FanoutCounts = {
  waiting: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  timed_out: 0,
  skipped: 0,
  canceled: 0,
  lost: 0,
};

type Change = Partial<Omit<FanoutRow, "counts" | "plan">> & {
  counts?: Partial<FanoutCounts>;
  plan?: Partial<FanoutPlan>;
};

const fanout = ({ counts, plan, ...change }: Change): FanoutRow => ({
  ...{ id: "fan_1", selector: "*", process: processTemplate.parse({ command: "x" }), createdAt: noon },
  ...{ createdBy: null, expiresAt: null, status: "running", reason: null, lastStartAt: null, endedAt: null },
  ...change,
  plan: {
    ...{ parallel: null, staggerMs: null, canary: null, maxFailures: null, ifOffline: "fail" },
    ...{ expiresMs: null, acceptedFailures: 0 },
    ...plan,
  },
  counts: { ...none, ...counts },
});
const look = (change: Change, now = noon) => outlookOf(fanout(change), now);

describe("the room for starts", () => {
  it.each<[Change, number]>([
    [{ counts: { waiting: 5 } }, 5],
    [{ counts: { waiting: 5, running: 3 }, plan: { parallel: 4 } }, 1],
    [{ counts: { waiting: 5, running: 4 }, plan: { parallel: 4 } }, 0],
    [{ counts: { waiting: 5, running: 9 }, plan: { parallel: 4 } }, 0],
    [{ counts: { waiting: 3 }, plan: { parallel: "25%" } }, 1],
    [{ counts: { waiting: 5 }, plan: { parallel: "25%" } }, 2],
    [{ counts: { waiting: 2 }, plan: { parallel: "0.1%" } }, 1],
    [{ counts: { waiting: 9 }, plan: { canary: 2 } }, 2],
    [{ counts: { waiting: 8, running: 1 }, plan: { canary: 2 } }, 1],
    [{ counts: { waiting: 7, running: 1, succeeded: 1 }, plan: { canary: 2 } }, 0],
    [{ counts: { waiting: 7, succeeded: 2 }, plan: { canary: 2 } }, 7],
    [{ counts: { waiting: 7, succeeded: 2 }, plan: { canary: 2, parallel: 3 } }, 3],
    [{ counts: { waiting: 9 }, plan: { canary: 5, parallel: 3 } }, 3],
    [{ counts: { waiting: 8, skipped: 1 }, plan: { canary: 1 } }, 1],
    [{ counts: { waiting: 9 }, status: "paused", reason: "requested" }, 0],
    [{ counts: { waiting: 9, running: 1 }, reason: canceling }, 0],
  ])("of %j is %d", (change, room) => expect(look(change).room).toBe(room));

  it("is one node at a time with a stagger, that long after the last, and says when to look again", () => {
    const staggered: Change = { counts: { waiting: 5 }, plan: { staggerMs: 1000 } };
    expect(look(staggered)).toMatchObject({ room: 1, lookAt: after(1000) });
    const once = { ...staggered, lastStartAt: noon };
    expect(look(once, after(999))).toMatchObject({ room: 0, lookAt: after(1000) });
    expect(look(once, after(1000))).toMatchObject({ room: 1, lookAt: after(2000) });
    expect(look({ ...once, expiresAt: after(500) }, after(400))).toMatchObject({ lookAt: after(500) });
    const full: Change = {
      ...once,
      counts: { waiting: 5, running: 1 },
      plan: { staggerMs: 1000, parallel: 1 },
    };
    expect(look(full, after(5000))).toMatchObject({ room: 0, lookAt: null });
  });
});

describe("failures", () => {
  it.each<[Change, string, string | null]>([
    [{ counts: { waiting: 1, failed: 1 } }, "running", null],
    [{ counts: { waiting: 1, failed: 1 }, plan: { maxFailures: 1 } }, "paused", "max_failures"],
    [{ counts: { waiting: 1, failed: 1 }, plan: { maxFailures: 2 } }, "running", null],
    [
      { counts: { waiting: 1, failed: 1, lost: 1, timed_out: 1 }, plan: { maxFailures: 3 } },
      "paused",
      "max_failures",
    ],
    [{ counts: { waiting: 9, skipped: 5, canceled: 5 }, plan: { maxFailures: 1 } }, "running", null],
    [{ counts: { waiting: 9, failed: 1 }, plan: { maxFailures: "10%" } }, "paused", "max_failures"],
    [{ counts: { waiting: 10, failed: 1 }, plan: { maxFailures: "10%" } }, "running", null],
    [{ counts: { waiting: 9, failed: 2 }, plan: { maxFailures: 2, acceptedFailures: 2 } }, "running", null],
    [
      { counts: { waiting: 9, failed: 4 }, plan: { maxFailures: 2, acceptedFailures: 2 } },
      "paused",
      "max_failures",
    ],
    [{ counts: { waiting: 9, failed: 1 }, plan: { canary: 1 } }, "paused", "canary_failed"],
    [{ counts: { waiting: 9, failed: 1, succeeded: 1 }, plan: { canary: 1 } }, "running", null],
    [{ counts: { waiting: 9, failed: 1 }, plan: { canary: 1, acceptedFailures: 1 } }, "running", null],
    [{ counts: { running: 1, failed: 1 }, plan: { maxFailures: 1 } }, "running", null],
  ])("of %j make it %s (%s)", (change, status, reason) => {
    const outlook = look(change);
    expect(outlook).toMatchObject({ status, reason });
    if (status === "paused") expect(outlook.room).toBe(0);
  });
});

describe("the end", () => {
  it.each<[Change, string, string | null]>([
    [{ counts: { succeeded: 3 } }, "succeeded", null],
    [{ counts: { succeeded: 3, failed: 1 } }, "failed", "node_failures"],
    [{ counts: { succeeded: 3, lost: 1, skipped: 1 } }, "failed", "node_failures"],
    [{ counts: { succeeded: 3, skipped: 1 } }, "failed", "nodes_skipped"],
    [{ counts: { skipped: 3 } }, "failed", "nodes_skipped"],
    [{ counts: { succeeded: 3, canceled: 1 } }, "failed", "nodes_canceled"],
    [{ counts: { succeeded: 3 }, reason: canceling }, "canceled", null],
    [{ counts: { canceled: 3 }, reason: canceling }, "canceled", null],
    [{ counts: { failed: 1 }, status: "paused", reason: "max_failures" }, "failed", "node_failures"],
  ])("of %j is %s (%s)", (change, status, reason) => expect(look(change)).toMatchObject({ status, reason }));

  it("comes for those that wait when the time has passed, also while it is paused, and not before", () => {
    for (const status of ["running", "paused"] as const) {
      const late: Change = { status, counts: { waiting: 2, running: 1 }, expiresAt: after(10) };
      expect(look(late, after(9))).toMatchObject({ expire: false, lookAt: after(10) });
      expect(look(late, after(10))).toMatchObject({ expire: true, room: 0, status });
    }
    expect(look({ counts: { running: 1 }, expiresAt: noon }, after(9))).toMatchObject({ expire: false });
  });
});

describe("a share of the nodes", () => {
  it.each<[Share, number, number]>([
    [3, 10, 3],
    ["50%", 3, 2],
    ["1%", 5, 1],
    ["100%", 7, 7],
    ["33.4%", 3, 2],
  ])("%s of %d is %d", (share, total, count) => expect(nodesOf(share, total)).toBe(count));
});

const endings = fanoutNodeStatuses.filter((status) => isFinalNode(status) && status !== "skipped");
const share = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom<Share>("1%", "25%", "60%", "100%"));
const plans = fc.record({
  parallel: fc.option(share),
  canary: fc.option(fc.integer({ min: 1, max: 4 })),
  maxFailures: fc.option(share),
  staggerMs: fc.option(fc.integer({ min: 1, max: 50 })),
});
type Event =
  | { kind: "end"; as: FanoutNodeStatus }
  | { kind: "pause" | "resume" | "cancel" }
  | { kind: "wait"; ms: number };
const happenings = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("end" as const), as: fc.constantFrom(...endings) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 60 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom("pause" as const, "resume" as const, "cancel" as const) }),
    },
  ),
  { maxLength: 60 },
);

const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** A fan-out whose nodes are played: each step does what the outlook says, as the store does. */
class Played {
  readonly nodes: FanoutNodeStatus[];
  readonly finals: number[];
  row: FanoutRow;
  nowMs = 0;

  constructor(count: number, plan: Partial<FanoutPlan>, expiresAt: Date | null) {
    this.nodes = Array.from({ length: count }, () => "waiting");
    this.finals = this.nodes.map(() => 0);
    this.row = fanout({ plan, expiresAt });
  }

  get counts(): FanoutCounts {
    const counts = { ...none };
    for (const status of this.nodes) counts[status]++;
    return counts;
  }

  become(at: number, status: FanoutNodeStatus): void {
    must(!isFinalNode(this.nodes[at] ?? "lost"), "a node that ended changes");
    this.nodes[at] = status;
    if (isFinalNode(status)) this.finals[at] = (this.finals[at] ?? 0) + 1;
  }

  step(): number {
    if (isFinalFanout(this.row.status)) return 0;
    const { plan } = this.row;
    const now = after(this.nowMs);
    const mayStart = this.row.status === "running" && this.row.reason !== canceling;
    let outlook = outlookOf({ ...this.row, counts: this.counts }, now);
    if (outlook.expire) {
      for (const [at, status] of this.nodes.entries()) if (status === "waiting") this.become(at, "skipped");
      outlook = outlookOf({ ...this.row, counts: this.counts }, now);
      must(!outlook.expire, "it expires twice");
    }
    const waiting = [...this.nodes.entries()].filter(([, status]) => status === "waiting").map(([at]) => at);
    const started = waiting.slice(0, outlook.room);
    for (const at of started) this.become(at, "running");
    this.row = { ...this.row, status: outlook.status, reason: outlook.reason };
    if (started.length > 0) {
      must(mayStart && outlook.status === "running", "something starts after a pause or cancel");
      if (plan.staggerMs !== null) {
        must(started.length === 1, "two start at once in spite of the stagger");
        const sinceMs = now.getTime() - (this.row.lastStartAt?.getTime() ?? 0);
        must(sinceMs >= plan.staggerMs, "it starts too early");
      }
      this.row = { ...this.row, lastStartAt: now };
    }
    const { running, succeeded } = this.counts;
    if (plan.parallel !== null) must(running <= nodesOf(plan.parallel, this.nodes.length), "too many run");
    if (plan.canary !== null && succeeded < plan.canary)
      must(running + succeeded <= plan.canary, "others start before the canaries");
    return started.length;
  }

  happen(event: Event): void {
    const running = this.nodes.indexOf("running");
    const isOpen = !isFinalFanout(this.row.status) && this.row.reason !== canceling;
    if (event.kind === "end" && running >= 0) this.become(running, event.as);
    if (event.kind === "wait") this.nowMs += event.ms;
    if (event.kind === "pause" && isOpen && this.row.status === "running")
      this.row = { ...this.row, status: "paused", reason: "requested" };
    if (event.kind === "resume" && this.row.status === "paused") {
      const { failed, timed_out, lost } = this.counts;
      const plan = { ...this.row.plan, acceptedFailures: failed + timed_out + lost };
      this.row = { ...this.row, plan, status: "running", reason: null };
    }
    if (event.kind === "cancel" && isOpen) {
      this.row = { ...this.row, status: "running", reason: canceling };
      for (const [at, status] of this.nodes.entries()) if (status === "waiting") this.become(at, "canceled");
    }
  }
}

describe("whatever happens in whatever order", () => {
  it("no more run than may, nothing starts after a pause or a cancel, and every node ends once", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        plans,
        fc.boolean(),
        happenings,
        (count, plan, expires, events) => {
          const played = new Played(count, plan, expires ? after(400) : null);
          for (const event of events) {
            played.step();
            played.happen(event);
          }
          // Whoever resumes it each time, and lets what runs end well, brings it to its end.
          for (let turn = 0; turn < 200 && !isFinalFanout(played.row.status); turn++) {
            played.happen({ kind: "resume" });
            played.step();
            played.happen({ kind: "end", as: "succeeded" });
            played.happen({ kind: "wait", ms: 50 });
          }
          expect(isFinalFanout(played.row.status)).toBe(true);
          expect(played.finals).toEqual(played.nodes.map(() => 1));
          const isGood = played.nodes.every((status) => status === "succeeded");
          expect(played.row.status === "succeeded" || played.row.status === "canceled").toBe(
            isGood || played.row.status === "canceled",
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});
