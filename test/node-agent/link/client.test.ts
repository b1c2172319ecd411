import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closeCodes, maxFrameBytes } from "#shared/link/limits.ts";
import { launchOf } from "../../support/engine.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";
import { reportOf } from "./fake-engine.ts";
import { greeting, key, linkedForEachTest, load } from "./linked.ts";

const linked = linkedForEachTest();

describe("a link", () => {
  it("greets with what the node is and has, proves who it is, and tells its load once welcome", async () => {
    linked.engine.reports.set("proc_1", reportOf("proc_1", 7));
    linked.open();
    const end = await linked.plane.agent();
    expect(await end.next("hello")).toEqual({
      type: "hello",
      echoes: true,
      protocol: 1,
      ...greeting,
      wallAt: expect.any(Number),
      inventory: [{ id: "proc_1", status: "running", revision: 7 }],
    });
    expect(linked.plane.authorizations).toEqual([`Bearer node_1.${key}`]);
    expect(end.frames).toHaveLength(1);
    end.welcome();
    expect(await end.next("load")).toEqual({ type: "load", load, wallAt: expect.any(Number) });
  });

  it("says goodbye when it is closed", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    await end.next("load");
    await linked.link?.close();
    expect(await end.closed).toBe(1000);
    expect(end.frames.at(-1)).toEqual({ type: "goodbye" });
    expect(await linked.link?.done).toBeUndefined();
  });

  it("hands starts and stops to the engine and confirms a start", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.send(
      { type: "start", launch: launchOf("true", { id: "proc_1" }) },
      { type: "stop", id: "proc_1", graceMs: 5, reason: "stopped" },
    );
    expect(await end.next("accepted")).toEqual({ type: "accepted", id: "proc_1" });
    await vi.waitFor(() =>
      expect(linked.engine.calls).toEqual([
        { name: "start", args: ["proc_1"] },
        { name: "stop", args: ["proc_1", { graceMs: 5, reason: "stopped" }] },
      ]),
    );
  });

  it("answers a probe with a ping of its number at once", async () => {
    linked.open({ times: { pingEveryMs: 60_000, silenceMs: 60_000, handshakeMs: 5000 } });
    const end = await linked.plane.welcomed();
    end.send({ type: "probe", nonce: 7 }, { type: "probe" });
    expect([await end.next("ping"), await end.next("ping")]).toEqual([
      { type: "ping", nonce: 7 },
      { type: "ping" },
    ]);
  });

  it("lives on when a frame makes the engine fail", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.send(
      { type: "start", launch: launchOf("true", { id: "proc_broken" }) },
      { type: "start", launch: launchOf("true", { id: "proc_2" }) },
    );
    expect((await end.next("accepted")).id).toBe("proc_2");
    expect(linked.logged).toContain("frame.failed");
  });

  it.each([
    ["that is not JSON", "{"],
    ["of no kind", '{"type":"dance"}'],
    ["with a wrong field", '{"type":"forget","ids":[1]}'],
    ["that is a second welcome", '{"type":"welcome","nodeId":"n","nodeName":"n","epoch":2}'],
  ])("closes its socket with 1008 on a frame %s, and comes back", async (_, text) => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.socket.send(text);
    expect(await end.closed).toBe(1008);
    await linked.plane.welcomed();
  });

  it("closes its socket with 1008 on any frame before welcome", async () => {
    linked.open();
    const end = await linked.plane.agent();
    end.send({ type: "forget", ids: [] });
    expect(await end.closed).toBe(1008);
    expect(linked.engine.calls).toEqual([]);
  });

  it("closes its socket with 1009 on a frame that is too large, and comes back", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.socket.send("x".repeat(maxFrameBytes + 1));
    expect(await end.closed).toBe(1009);
    await linked.plane.welcomed();
  });

  it("comes back when the socket is cut and when the control plane restarts on its port", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.socket.terminate();
    await linked.plane.welcomed();
    const { port } = linked.plane;
    await linked.plane.close();
    linked.plane = await new FakeControlPlane().listen(port);
    await linked.plane.welcomed();
  });

  it("pings, and drops a socket on which nothing is heard", async () => {
    linked.open({ times: { pingEveryMs: 20, silenceMs: 200, handshakeMs: 5000 } });
    const end = await linked.plane.welcomed();
    end.answersPings = false;
    await end.next("ping");
    expect(await end.closed).toBe(1006);
    await linked.plane.agent();
  });

  it.each([
    [closeCodes.duplicateAgent, /another agent is connected as this node/],
    [closeCodes.revoked, /deleted or its key revoked/],
    [closeCodes.unauthorized, /does not accept this node's key/],
    [closeCodes.versionMismatch, /different versions/],
  ])("is over, with the cause, when its socket is closed with %i", async (code, cause) => {
    linked.open();
    const end = await linked.plane.agent();
    end.socket.close(code, "because");
    expect(await linked.link?.done).toMatch(cause);
    expect(await linked.link?.done).toContain("because");
  });

  it.each([closeCodes.superseded, closeCodes.goingAway, 1011])(
    "comes back when its socket is closed with %i",
    async (code) => {
      linked.open();
      (await linked.plane.agent()).socket.close(code);
      await linked.plane.agent();
    },
  );

  it("keeps asking, slowly, a control plane that does not know its key", async () => {
    linked.plane.refuseWith = 401;
    linked.open();
    await vi.waitFor(() => expect(linked.logged).toEqual(["link.unreachable"]));
    expect(linked.plane.authorizations).toHaveLength(1);
    await linked.link?.close();
  });

  it("tries its newest key first, and at once the one before it where that is not known", async () => {
    linked.keys = ["newest", "older"];
    linked.plane.unknownKeys.add("newest");
    linked.open();
    await linked.plane.welcomed();
    expect(linked.plane.authorizations).toEqual(["Bearer node_1.newest", "Bearer node_1.older"]);
    expect(linked.logged).not.toContain("link.unreachable");
    await vi.waitFor(() => expect(linked.welcomes).toMatchObject([{ nodeName: "n1" }]));
  });

  it("does not try an older key for any other reason", async () => {
    linked.keys = ["newest", "older"];
    linked.plane.refuseWith = 503;
    linked.open();
    await vi.waitFor(() => expect(linked.plane.authorizations.length).toBeGreaterThan(1));
    expect(new Set(linked.plane.authorizations)).toEqual(new Set(["Bearer node_1.newest"]));
  });

  it("ends at once when closed while it waits for its next attempt", async () => {
    linked.plane.refuseWith = 503;
    linked.open({ random: () => 0.999 });
    await vi.waitFor(() => expect(linked.plane.authorizations.length).toBeGreaterThan(1));
    await linked.link?.close();
    expect(await linked.link?.done).toBeUndefined();
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
    linked.open({
      self: linked.self(`http://127.0.0.1:${port}`),
      times: { pingEveryMs: 1000, silenceMs: 1000, handshakeMs: 50 },
    });
    await vi.waitFor(() => expect(taken.length).toBeGreaterThan(1));
  });
});
