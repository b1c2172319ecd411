import fc from "fast-check";
import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { upFrame } from "#shared/link/frames.ts";
import { framesOf } from "../../support/fuzz/frames.ts";
import { fuzz, fuzzTimeoutMs, heapBytes, sampled } from "../../support/fuzz/runs.ts";
import { eventually } from "../../support/eventually.ts";
import type { FarEnd } from "./far-end.ts";
import { openRig, type Rig } from "./rig.ts";

const processes = Array.from({ length: 8 }, () => newId("proc"));

/** Why a session may end by what its agent said: no hello, an invalid frame, one too large, another protocol, its own goodbye. */
const fairEnds = [1000, 1008, 1009, 4426];

describe("whatever an agent says", { timeout: fuzzTimeoutMs }, () => {
  let rig: Rig;
  let nodeId: string;
  let bystander: FarEnd;
  const frames = framesOf(z.toJSONSchema(upFrame, { io: "input", unrepresentable: "any" }), (name) =>
    fc.constantFrom(...(name === "id" ? [...processes, newId("proc")] : ["f1", "r1", "YQ==", "merged"])),
  );

  beforeAll(async () => {
    rig = await openRig({ pongEveryMs: 0 });
    nodeId = (await rig.node()).id;
    for (const id of processes) await rig.start(nodeId, { id });
    bystander = await rig.online((await rig.node()).id);
  });
  afterAll(() => rig.close());

  /**
   * Says these on a socket of its own, then hangs up. Meanwhile the session answered a ping or ended for a fair reason, and once its
   * end is written down all that it said is stored.
   */
  const hear = async (texts: string[], hello: "polite" | "none"): Promise<void> => {
    rig.lines.length = 0;
    const agent = rig.agent(nodeId);
    let end: Awaited<FarEnd["closed"]> | undefined;
    void agent.closed.then((closed) => (end = closed));
    if (hello === "polite") {
      agent.hello();
      await agent.next("welcome");
    }
    for (const text of texts) agent.sayText(text);
    const before = agent.all("pong").length;
    agent.say({ type: "ping" });
    await eventually(() => end !== undefined || agent.all("pong").length > before);
    const why = end;
    agent.cut();
    await eventually(async () => (await rig.needs.store.nodes.find(nodeId))?.connectedAt === null);
    if (why !== undefined && why !== "terminated") expect(fairEnds).toContain(why.code);
    expect(rig.lines.filter(({ event }) => /failed|not_stored|refused|crashed/.test(event))).toEqual([]);
  };

  it.each([
    ["after its hello", "polite"],
    ["in place of a hello", "none"],
  ] as const)("%s ends at most its own session, and nothing of it fails inside", async (_title, hello) => {
    await fuzz(fc.array(frames, { minLength: 1, maxLength: 4 }), {
      runs: 150,
      tryOne: (texts) => hear(texts, hello),
    });
    bystander.report({ id: newId("proc"), revision: 1 });
    await bystander.next("forget");
  });

  it("leaves the heap as it was", async () => {
    const all = sampled(fc.array(frames, { minLength: 1, maxLength: 4 }), 100);
    const round = async (): Promise<number> => {
      for (const texts of all) await hear(texts, "polite");
      return heapBytes();
    };
    await round();
    const first = await round();
    const later = [await round(), await round(), await round()];
    expect(Math.min(...later) - first).toBeLessThan(1_000_000);
  });
});
