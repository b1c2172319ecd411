import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { closeCodes, maxFrameBytes, windowBytes } from "#shared/link/limits.ts";
import { Link, type LinkNeeds } from "../../../node-agent/link/client.ts";
import { launchOf } from "../../support/engine.ts";
import { FakeControlPlane, type AgentEnd } from "./fake-control-plane.ts";
import { FakeEngine, reportOf } from "./fake-engine.ts";

const greeting = { version: "1", instanceId: "i1", machineId: "m1", bootId: "b1", facts: { cpus: 2 } };
const load = { cpu: 0.5, memUsedBytes: 1, diskFreeBytes: 2 };

let plane: FakeControlPlane;
let engine: FakeEngine;
let logged: string[];
let link: Link;

const open = (more: Partial<LinkNeeds> = {}): Link => {
  const note = (event: string) => void logged.push(event);
  link = new Link({
    identity: { nodeId: "node_1", name: "n1", key: "k".repeat(43), url: plane.url },
    engine,
    greeting,
    load: () => Promise.resolve(load),
    log: { info: note, warn: note, error: note },
    random: () => 0,
    ...more,
  });
  return link;
};

beforeEach(async () => {
  plane = await new FakeControlPlane().listen();
  engine = new FakeEngine();
  logged = [];
});

afterEach(async () => {
  await link.close();
  await plane.close();
});

describe("a link", () => {
  it("greets with what the node is and has, proves who it is, and tells its load once welcome", async () => {
    engine.reports.set("proc_1", reportOf("proc_1", 7));
    open();
    const end = await plane.agent();
    expect(await end.next("hello")).toEqual({
      type: "hello",
      protocol: 1,
      ...greeting,
      inventory: [{ id: "proc_1", status: "running", revision: 7 }],
    });
    expect(plane.authorizations).toEqual([`Bearer node_1.${"k".repeat(43)}`]);
    expect(end.frames).toHaveLength(1);
    end.welcome();
    expect((await end.next("load")).load).toEqual(load);
  });

  it("says goodbye when it is closed", async () => {
    open();
    const end = await plane.welcomed();
    await end.next("load");
    await link.close();
    expect(await end.closed).toBe(1000);
    expect(end.frames.at(-1)).toEqual({ type: "goodbye" });
    expect(await link.done).toBeUndefined();
  });

  it("hands starts and stops to the engine and confirms a start", async () => {
    open();
    const end = await plane.welcomed();
    end.send(
      { type: "start", launch: launchOf("true", { id: "proc_1" }) },
      { type: "stop", id: "proc_1", graceMs: 5, reason: "stopped" },
    );
    expect(await end.next("accepted")).toEqual({ type: "accepted", id: "proc_1" });
    await vi.waitFor(() =>
      expect(engine.calls).toEqual([
        { name: "start", args: ["proc_1"] },
        { name: "stop", args: ["proc_1", { graceMs: 5, reason: "stopped" }] },
      ]),
    );
  });

  it("answers a probe with a ping at once", async () => {
    open({ times: { pingEveryMs: 60_000, silenceMs: 60_000, handshakeMs: 5000 } });
    const end = await plane.welcomed();
    end.send({ type: "probe" });
    await end.next("ping");
  });

  it("lives on when a frame makes the engine fail", async () => {
    open();
    const end = await plane.welcomed();
    end.send(
      { type: "start", launch: launchOf("true", { id: "proc_broken" }) },
      { type: "start", launch: launchOf("true", { id: "proc_2" }) },
    );
    expect((await end.next("accepted")).id).toBe("proc_2");
    expect(logged).toContain("frame.failed");
  });

  it.each([
    ["that is not JSON", "{"],
    ["of no kind", '{"type":"dance"}'],
    ["with a wrong field", '{"type":"forget","ids":[1]}'],
    ["that is a second welcome", '{"type":"welcome","nodeId":"n","nodeName":"n","epoch":2}'],
  ])("closes its socket with 1008 on a frame %s, and comes back", async (_, text) => {
    open();
    const end = await plane.welcomed();
    end.socket.send(text);
    expect(await end.closed).toBe(1008);
    await plane.welcomed();
  });

  it("closes its socket with 1008 on any frame before welcome", async () => {
    open();
    const end = await plane.agent();
    end.send({ type: "forget", ids: [] });
    expect(await end.closed).toBe(1008);
    expect(engine.calls).toEqual([]);
  });

  it("closes its socket with 1009 on a frame that is too large, and comes back", async () => {
    open();
    const end = await plane.welcomed();
    end.socket.send("x".repeat(maxFrameBytes + 1));
    expect(await end.closed).toBe(1009);
    await plane.welcomed();
  });

  it("comes back when the socket is cut and when the control plane restarts on its port", async () => {
    open();
    const end = await plane.welcomed();
    end.socket.terminate();
    await plane.welcomed();
    const { port } = plane;
    await plane.close();
    plane = await new FakeControlPlane().listen(port);
    await plane.welcomed();
  });

  it("pings, and drops a socket on which nothing is heard", async () => {
    open({ times: { pingEveryMs: 20, silenceMs: 200, handshakeMs: 5000 } });
    const end = await plane.welcomed();
    end.answersPings = false;
    await end.next("ping");
    expect(await end.closed).toBe(1006);
    await plane.agent();
  });

  it.each([
    [closeCodes.duplicateAgent, /another agent is connected as this node/],
    [closeCodes.revoked, /deleted or its key revoked/],
    [closeCodes.unauthorized, /does not accept this node's key/],
    [closeCodes.versionMismatch, /different versions/],
  ])("is over, with the cause, when its socket is closed with %i", async (code, cause) => {
    open();
    const end = await plane.agent();
    end.socket.close(code, "because");
    expect(await link.done).toMatch(cause);
    expect(await link.done).toContain("because");
  });

  it.each([closeCodes.superseded, closeCodes.goingAway, 1011])(
    "comes back when its socket is closed with %i",
    async (code) => {
      open();
      (await plane.agent()).socket.close(code);
      await plane.agent();
    },
  );

  it("keeps asking, slowly, a control plane that does not know its key", async () => {
    plane.refuseWith = 401;
    open();
    await vi.waitFor(() => expect(logged).toEqual(["link.unreachable"]));
    expect(plane.authorizations).toHaveLength(1);
    await link.close();
  });

  it("ends at once when closed while it waits for its next attempt", async () => {
    plane.refuseWith = 503;
    open({ random: () => 0.999 });
    await vi.waitFor(() => expect(plane.authorizations.length).toBeGreaterThan(1));
    await link.close();
    expect(await link.done).toBeUndefined();
  });
});

describe("a link to a control plane that answers nothing", () => {
  let server: Server;
  const taken: Socket[] = [];
  afterEach(() => {
    for (const socket of taken) socket.destroy();
    server.close();
  });

  it("gives up the handshake and tries again", async () => {
    server = createServer((socket) => void taken.push(socket)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    open({
      identity: { nodeId: "node_1", name: "n1", key: "k", url: `http://127.0.0.1:${port}` },
      times: { pingEveryMs: 1000, silenceMs: 1000, handshakeMs: 50 },
    });
    await vi.waitFor(() => expect(taken.length).toBeGreaterThan(1));
  });
});

describe("reports", () => {
  const acknowledge = (end: AgentEnd, ...acks: { id: string; revision: number }[]) =>
    end.send({ type: "acknowledge", acks });

  it("go out together, each process once and at its newest", async () => {
    open();
    const end = await plane.welcomed();
    await end.next("load");
    engine.change(reportOf("proc_1", 1));
    engine.change(reportOf("proc_2", 2));
    engine.change(reportOf("proc_1", 3));
    expect((await end.next("reports")).reports.map(({ id, revision }) => [id, revision])).toEqual([
      ["proc_1", 3],
      ["proc_2", 2],
    ]);
  });

  it("are sent again on the next socket until they are acknowledged", async () => {
    open();
    const first = await plane.welcomed();
    await first.next("load");
    engine.change(reportOf("proc_1", 1));
    engine.change(reportOf("proc_2", 2));
    await first.next("reports");
    acknowledge(first, { id: "proc_1", revision: 1 });
    await vi.waitFor(() => expect(engine.calls).toHaveLength(1));
    first.socket.terminate();
    const second = await plane.welcomed();
    expect((await second.next("reports")).reports.map(({ id }) => id)).toEqual(["proc_2"]);
  });

  it("that are many are split over frames below the limit, none left out", async () => {
    const head = Buffer.alloc(64 * 1024, 120).toString("base64");
    for (let index = 0; index < 150; index++)
      engine.reports.set(
        `proc_${index}`,
        reportOf(`proc_${index}`, 1, {
          snapshots: [{ stream: "merged", head, tail: "", totalBytes: 65536 }],
        }),
      );
    open();
    const end = await plane.welcomed();
    const ids = new Set<string>();
    let frames = 0;
    for (; ids.size < 150; frames++) for (const { id } of (await end.next("reports")).reports) ids.add(id);
    expect(frames).toBeGreaterThan(2);
    expect(frames).toBeLessThan(10);
  });

  it("that are too large for any frame go without what can be asked for", async () => {
    const survivors = Array.from({ length: 1000 }, (_, pid) => ({ pid, command: "c".repeat(5000) }));
    engine.reports.set("proc_1", reportOf("proc_1", 1, { survivors }));
    open();
    const end = await plane.welcomed();
    expect((await end.next("reports")).reports[0]).toMatchObject({ id: "proc_1", survivors: [] });
  });

  it("are waited for until all are acknowledged", async () => {
    open();
    const end = await plane.welcomed();
    await end.next("load");
    engine.change(reportOf("proc_1", 1));
    let isSettled = false;
    const settling = link.settle(50_000).then(() => (isSettled = true));
    await end.next("reports");
    expect(isSettled).toBe(false);
    acknowledge(end, { id: "proc_1", revision: 1 });
    await settling;
  });
});

describe("requests", () => {
  it("reach the engine with their fields and get one reply each", async () => {
    open();
    const end = await plane.welcomed();
    engine.answer = (name) =>
      Promise.resolve(
        name === "signal" ? { error: { code: "process_not_running", message: "gone" } } : { value: { name } },
      );
    end.send({ type: "stdin", rid: "r1", id: "proc_1", b64: Buffer.from("é").toString("base64"), eof: true });
    end.send({ type: "signal", rid: "r2", id: "proc_1", signal: "USR1", scope: "leader" });
    expect(await end.next("reply")).toEqual({ type: "reply", rid: "r1", value: { name: "stdin" } });
    expect(await end.next("reply")).toEqual({
      type: "reply",
      rid: "r2",
      error: { code: "process_not_running", message: "gone" },
    });
    expect(engine.calls).toEqual([
      { name: "stdin", args: ["proc_1", "é", true] },
      { name: "signal", args: ["proc_1", "USR1", "leader"] },
    ]);
  });

  it("that are abandoned, or whose socket ends, are given up and get none", async () => {
    open();
    const end = await plane.welcomed();
    const aborted: string[] = [];
    engine.answer = (name, signal) =>
      signal === undefined
        ? Promise.resolve({ value: {} })
        : new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              aborted.push(name);
              reject(new Error("aborted"));
            }),
          );
    end.send(
      { type: "wait", rid: "r1", id: "proc_1", waitMs: 1000, stream: "merged" },
      { type: "abandon", rid: "r1" },
    );
    end.send(
      {
        type: "grep",
        rid: "r2",
        id: "proc_1",
        stream: "merged",
        pattern: "a",
        regex: false,
        context: 0,
        from: 0,
        limit: 1,
      },
      { type: "ports", rid: "r3", id: "proc_1" },
    );
    expect((await end.next("reply")).rid).toBe("r3");
    expect(aborted).toEqual(["wait"]);
    end.socket.terminate();
    await vi.waitFor(() => expect(aborted).toEqual(["wait", "grep"]));
  });

  it("that make the engine fail are answered as unavailable", async () => {
    open();
    const end = await plane.welcomed();
    engine.answer = () => Promise.reject(new Error("disk on fire"));
    end.send({ type: "ports", rid: "r1", id: "proc_1" });
    expect((await end.next("reply")).error).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("disk on fire") as string,
    });
  });
});

describe("a followed stream", () => {
  const follow = { type: "follow", follow: "f1", id: "proc_1", stream: "merged", from: 10 } as const;
  const chunk = (from: number, size: number) => ({ from, to: from + size, bytes: Buffer.alloc(size, 97) });
  const begun = async (): Promise<{
    end: AgentEnd;
    follower: NonNullable<ReturnType<typeof engine.followers.get>>;
  }> => {
    engine.followable.add("proc_1");
    open();
    const end = await plane.welcomed();
    end.send(follow);
    const follower = await vi.waitFor(() => engine.followers.get("proc_1") ?? expect.fail("not followed"));
    return { end, follower };
  };

  it("carries bytes and gaps with their offsets", async () => {
    const { end, follower } = await begun();
    expect(follower.from).toBe(10);
    follower.send(chunk(10, 3));
    follower.send({ from: 13, to: 20, bytes: null });
    expect(await end.next("output")).toEqual({
      type: "output",
      follow: "f1",
      from: 10,
      to: 13,
      b64: Buffer.from("aaa").toString("base64"),
    });
    expect(await end.next("output")).toEqual({ type: "output", follow: "f1", from: 13, to: 20, gap: true });
  });

  it("pauses when its window is full and goes on with credit", async () => {
    const { end, follower } = await begun();
    expect(follower.send(chunk(10, windowBytes - 1))).toBe(true);
    expect(follower.send(chunk(9 + windowBytes, 1))).toBe(false);
    end.send({ type: "credit", follow: "f1", to: 11 });
    await vi.waitFor(() => expect(follower.resumed).toBe(1));
    expect(follower.send(chunk(10 + windowBytes, 1))).toBe(false);
  });

  it("sends no byte twice when a chunk is handed over again", async () => {
    const { end, follower } = await begun();
    follower.send(chunk(10, 5));
    follower.send(chunk(10, 5));
    follower.send(chunk(12, 5));
    await end.next("output");
    expect(await end.next("output")).toMatchObject({
      from: 15,
      to: 17,
      b64: Buffer.from("aa").toString("base64"),
    });
  });

  it("of a process that is not there yet begins when it is", async () => {
    open();
    const end = await plane.welcomed();
    end.send(follow, { type: "start", launch: launchOf("true", { id: "proc_1" }) });
    await end.next("accepted");
    expect(engine.followers.get("proc_1")?.from).toBe(10);
  });

  it("is let go when it is unfollowed, and when its socket ends", async () => {
    const { end, follower } = await begun();
    end.send({ type: "unfollow", follow: "f1" }, follow);
    await vi.waitFor(() => expect(follower.closed).toBe(true));
    const second = await vi.waitFor(() => {
      const now = engine.followers.get("proc_1");
      return now && now !== follower ? now : expect.fail("not followed again");
    });
    end.socket.terminate();
    await vi.waitFor(() => expect(second.closed).toBe(true));
  });
});
