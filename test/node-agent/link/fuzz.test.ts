import fc from "fast-check";
import * as z from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { downFrame } from "#shared/link/frames.ts";
import { Link } from "../../../node-agent/link/client.ts";
import { Bench, launchOf } from "../../support/engine.ts";
import { eventually } from "../../support/eventually.ts";
import { framesOf } from "../../support/fuzz/frames.ts";
import { fuzz, fuzzTimeoutMs, heapBytes, sampled } from "../../support/fuzz/runs.ts";
import { type AgentEnd, FakeControlPlane } from "./fake-control-plane.ts";
import { greeting, key, load } from "./linked.ts";

const processes = Array.from({ length: 6 }, () => newId("proc"));
const frames = framesOf(z.toJSONSchema(downFrame, { io: "input", unrepresentable: "any" }), (name) =>
  fc.constantFrom(
    ...(name === "id" || name === "ids" ? processes : ["f1", "r1", "YQ==", "merged", "/tmp", "a"]),
  ),
).map((text) => harmless(text));

/** What would be run is run: of a start all but the command is tried. */
const harmless = (text: string): string => {
  try {
    const frame = JSON.parse(text) as { launch?: Record<string, unknown> };
    if (typeof frame?.launch !== "object" || frame.launch === null) return text;
    const command =
      typeof frame.launch["command"] === "string" ? { command: "true", argv: null } : { argv: ["true"] };
    return JSON.stringify({ ...frame, launch: { ...frame.launch, ...command, shell: "sh" } });
  } catch {
    return text;
  }
};

describe("whatever a control plane says", { timeout: fuzzTimeoutMs }, () => {
  const plane = new FakeControlPlane();
  const bench = new Bench();
  const logged: { event: string; fields: unknown }[] = [];
  let link: Link;
  let end: AgentEnd;
  let nonce = 0;

  beforeAll(async () => {
    await plane.listen();
    const note = (event: string, fields?: unknown) => void logged.push({ event, fields });
    link = new Link({
      self: {
        nodeId: "node_1",
        url: plane.url,
        keys: [key],
        welcomed: () => {},
        rotateKey: (inForce) => ({ value: { keyHash: inForce } }),
      },
      engine: bench.supervisor,
      greeting,
      load: () => Promise.resolve(load),
      log: { info: () => {}, warn: () => {}, error: note },
      random: () => 0,
    });
    end = await plane.welcomed();
    for (const id of processes.slice(0, 3))
      bench.supervisor.start(launchOf("read -r l", { id, stdin: "pipe" }));
  });
  afterAll(async () => {
    await link.close();
    await plane.close();
    await bench.supervisor.close({ stopProcesses: true });
  });

  /** Says these; the agent answers a probe behind them, or closes the socket for what is no frame and comes back. */
  const tell = async (texts: string[]): Promise<void> => {
    let code: number | undefined;
    void end.closed.then((closed) => (code = closed));
    for (const text of texts) end.socket.send(text);
    nonce += 1;
    const asked = 1e9 + nonce;
    end.send({ type: "probe", nonce: asked });
    const answered = () => end.frames.some((frame) => frame.type === "ping" && frame.nonce === asked);
    await eventually(() => code !== undefined || answered());
    expect(logged).toEqual([]);
    if (code === undefined) return;
    expect([1008, 1009]).toContain(code);
    end = await plane.welcomed();
  };

  it("closes at most its own socket, and nothing of it fails inside", async () => {
    await fuzz(fc.array(frames, { minLength: 1, maxLength: 4 }), { runs: 150, tryOne: tell });
  });

  it("leaves the heap as it was", async () => {
    const all = sampled(fc.array(frames, { minLength: 1, maxLength: 4 }), 80);
    const round = async (): Promise<number> => {
      for (const texts of all) await tell(texts);
      end.frames.length = 0;
      bench.reports.length = 0;
      return heapBytes();
    };
    await round();
    const first = await round();
    const later = [await round(), await round(), await round()];
    expect(Math.min(...later) - first).toBeLessThan(1_000_000);
  });
});
