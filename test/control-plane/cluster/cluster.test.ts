import { describe, expect, it, vi } from "vitest";
import { chunkBytes, windowBytes } from "#shared/link/limits.ts";
import { toBase64 } from "#shared/base64.ts";
import { followEvents } from "../../../control-plane/actions/follow-events.ts";
import { startProcess } from "../../../control-plane/actions/start-process.ts";
import { stopProcess } from "../../../control-plane/actions/stop-process.ts";
import { nodeStatus } from "../../../control-plane/actions/node-presence.ts";
import { startProcessBody } from "#shared/api/process.ts";
import { eventsBegin } from "../../contract/store-samples.ts";
import type { FarEnd } from "../link/far-end.ts";
import { exited } from "../link/far-end.ts";
import type { Rig } from "../link/rig.ts";
import { useTwoControlPlanes } from "./two-control-planes.ts";

const never = new AbortController().signal;

describe("two control planes on one database", () => {
  const rigs = useTwoControlPlanes();

  const body = (change: object = {}) =>
    startProcessBody.parse({ node: rigs.nodeId, command: "true", ...change });

  it("both see the node online, and both see it go", async () => {
    const { id } = await rigs.a.node();
    const far = await rigs.a.online(id);
    expect(await rigs.b.hub.online(id)).toBe(true);
    const row = await rigs.b.store.nodes.find(id);
    expect(row && nodeStatus(rigs.b.needs, row)).toBe("online");
    const looks = nextLook(rigs.b, `node:${id}`);
    far.cut();
    await looks;
    expect(await rigs.b.hub.online(id)).toBe(false);
  });

  it("a start on B is sent by A, with its env, and B sees it end", async () => {
    const started = await startProcess(rigs.b.needs, body({ env: { SECRET: "s3" } }));
    const { launch } = await rigs.agent.next("start");
    expect(launch).toMatchObject({ id: started.process.id, env: { SECRET: "s3" } });
    rigs.agent.say({ type: "reports", reports: [exited(launch.id)] });
    expect(await rigs.b.until(launch.id, (row) => row.status === "exited")).toMatchObject({ exitCode: 0 });
  });

  it("a start on B beyond the places of the node waits at A until one is free", async () => {
    const { id } = await rigs.a.node();
    const far = await rigs.a.online(id, { facts: { maxProcesses: 1 } });
    await startProcess(rigs.b.needs, body({ node: id }));
    const { launch } = await far.next("start");
    const { process } = await startProcess(rigs.b.needs, body({ node: id }));
    await rigs.a.until(process.id, (row) => row.status === "queued");
    far.say({ type: "reports", reports: [exited(launch.id)] });
    expect((await far.next("start")).launch.id).toBe(process.id);
  });

  it("a start that B stored for A while the agent came to B runs, and is not taken for undeliverable", async () => {
    const { id } = await rigs.a.node();
    await rigs.a.online(id, { instanceId: "one" });
    const { sendToHolder } = rigs.b.store.letters;
    let arrived: FarEnd | undefined;
    // Nobody but B holds the node by the time the letter is written, and B has it before it knows that.
    vi.spyOn(rigs.b.store.letters, "sendToHolder").mockImplementationOnce(async (...args) => {
      arrived = await rigs.b.online(id, { instanceId: "one" });
      await expect.poll(() => rigs.b.hub.free(id)).toBeGreaterThan(0);
      return sendToHolder(...args);
    });
    const { process } = await startProcess(rigs.b.needs, body({ node: id }));
    expect((await arrived?.next("start"))?.launch.id).toBe(process.id);
    expect((await rigs.b.store.processes.get(process.id))?.status).toBe("starting");
  });

  it("a stop on B reaches the agent at A", async () => {
    const { process } = await startProcess(rigs.b.needs, body());
    await rigs.agent.next("start");
    rigs.agent.report({ id: process.id, status: "running" });
    await rigs.b.until(process.id, (row) => row.status === "running");
    const stopping = stopProcess(rigs.b.needs, process.id, { graceMs: 5, signal: never });
    expect(await rigs.agent.next("stop")).toMatchObject({ id: process.id, graceMs: 5 });
    rigs.agent.report({ id: process.id, revision: 2, status: "killed", reason: "stopped" });
    expect(await stopping).toMatchObject({ status: "killed" });
  });

  it("a question on B gets the answer, the refusal or the silence of the agent at A", async () => {
    const ask = { type: "ports" as const, id: "proc_1" };
    const answered = rigs.b.hub.request(rigs.nodeId, ask, { timeoutMs: 60_000 });
    const { rid } = await rigs.agent.next("ports");
    rigs.agent.say({ type: "reply", rid, value: { ports: [] } });
    expect(await answered).toEqual({ outcome: "ok", value: { ports: [] } });

    const refused = rigs.b.hub.request(rigs.nodeId, ask, { timeoutMs: 60_000 });
    const second = await rigs.agent.next("ports");
    rigs.agent.say({ type: "reply", rid: second.rid, error: { code: "not_found", message: "gone" } });
    expect(await refused).toEqual({ outcome: "refused", code: "not_found", message: "gone" });

    const client = new AbortController();
    const abandoned = rigs.b.hub.request(rigs.nodeId, ask, { timeoutMs: 60_000, signal: client.signal });
    const third = await rigs.agent.next("ports");
    client.abort();
    expect(await abandoned).toEqual({ outcome: "no_answer" });
    expect(await rigs.agent.next("abandon")).toMatchObject({ rid: third.rid });

    expect(await rigs.b.hub.request((await rigs.a.node()).id, ask, { timeoutMs: 1000 })).toEqual({
      outcome: "offline",
    });
  });

  it("what is written to a stdin lies sealed in the database, and comes open to the agent", async () => {
    const sending = vi.spyOn(rigs.b.store.letters, "sendToHolder");
    const b64 = toBase64(new TextEncoder().encode("hunter2\n"));
    const written = rigs.b.hub.request(
      rigs.nodeId,
      { type: "stdin", id: "proc_p", b64, eof: false },
      { timeoutMs: 60_000 },
    );
    const frame = await rigs.agent.next("stdin");
    expect(frame.b64).toBe(b64);
    rigs.agent.say({ type: "reply", rid: frame.rid, value: { writtenBytes: 8 } });
    expect(await written).toMatchObject({ outcome: "ok" });
    const bodies = sending.mock.calls.map(([, { body: text }]) => text).join("");
    expect(bodies).toContain("stdin");
    expect(bodies).not.toContain(b64);
    sending.mockRestore();
  });

  it("what A cannot open is refused with the reason", async () => {
    vi.spyOn(rigs.a.needs.seal, "open").mockRejectedValueOnce(new Error("another key"));
    const stdin = { type: "stdin", id: "proc_p", b64: "", eof: true } as const;
    expect(await rigs.b.hub.request(rigs.nodeId, stdin, { timeoutMs: 60_000 })).toMatchObject({
      outcome: "refused",
      message: expect.stringContaining("DROVER_SECRET_KEY") as string,
    });
  });

  it("an answer of a megabyte comes through whole", async () => {
    const answered = rigs.b.hub.request(rigs.nodeId, { type: "ports", id: "proc_1" }, { timeoutMs: 60_000 });
    const { rid } = await rigs.agent.next("ports");
    const value = "x".repeat(1_400_000);
    rigs.agent.say({ type: "reply", rid, value });
    expect(await answered).toEqual({ outcome: "ok", value });
  });

  it("a follower on B gets every byte in order, and the agent is never more than the windows ahead of it", async () => {
    const leaving = new AbortController();
    const chunks = rigs.b.hub.follow(
      rigs.nodeId,
      { id: "proc_1", stream: "merged", from: 0 },
      leaving.signal,
    );
    const reader = chunks[Symbol.asyncIterator]();
    const first = reader.next();
    const { follow } = await rigs.agent.next("follow");
    const total = 8 * 1024 * 1024;
    let credit = 0;
    const sending = (async () => {
      for (let from = 0; from < total; from += chunkBytes) {
        while (from + chunkBytes - credit > windowBytes) credit = (await rigs.agent.next("credit")).to;
        const b64 = toBase64(new Uint8Array(chunkBytes).fill((from / chunkBytes) % 251));
        rigs.agent.say({ type: "output", follow, from, to: from + chunkBytes, b64 });
      }
    })();
    // A reader that takes nothing stops the agent after the windows of both links.
    await first;
    await expect.poll(() => rigs.agent.all("credit").length).toBeGreaterThan(0);
    let at = chunkBytes;
    while (at < total) {
      const { value } = await reader.next();
      expect(value?.from).toBe(at);
      expect(value?.bytes?.every((byte: number) => byte === (at / chunkBytes) % 251)).toBe(true);
      at = value?.to ?? total + 1;
    }
    await sending;
    expect(at).toBe(total);
    leaving.abort();
    await reader.next();
    expect(await rigs.agent.next("unfollow")).toMatchObject({ follow });
  });

  it("a follow ends when the socket at A goes", async () => {
    const { id } = await rigs.a.node();
    const far = await rigs.a.online(id);
    const reader = rigs.b.hub
      .follow(id, { id: "proc_p", stream: "merged", from: 0 }, never)
      [Symbol.asyncIterator]();
    const next = reader.next();
    await far.next("follow");
    far.cut();
    expect((await next).done).toBe(true);
  });

  it("a question and a follow on B end when the agent has come to B meanwhile", async () => {
    const { id } = await rigs.a.node();
    const old = await rigs.a.online(id, { instanceId: "one" });
    const asked = rigs.b.hub.request(id, { type: "ports", id: "proc_p" }, { timeoutMs: 60_000 });
    await old.next("ports");
    const reader = rigs.b.hub
      .follow(id, { id: "proc_p", stream: "merged", from: 0 }, never)
      [Symbol.asyncIterator]();
    const next = reader.next();
    await old.next("follow");
    await rigs.b.online(id, { instanceId: "one" });
    expect(await asked).toEqual({ outcome: "no_answer" });
    expect((await next).done).toBe(true);
  });

  it("one that the others took for dead drops its sockets and is there again", async () => {
    const { id } = await rigs.b.node();
    const far = await rigs.b.online(id);
    await rigs.a.store.instances.remove({ only: rigs.b.cluster.self });
    rigs.a.needs.bus.publish("instances");
    expect(await far.closed).toMatchObject({ code: 1001 });
    await rigs.b.online(id);
    expect(await rigs.a.hub.online(id)).toBe(true);
  });

  it("who follows everything at B hears at once of a node that comes and goes at A, each time once", async () => {
    const { id } = await rigs.a.node();
    const leaving = new AbortController();
    const from = await eventsBegin(rigs.b.store);
    const events = followEvents(rigs.b.needs, from, leaving.signal);
    const next = async (): Promise<string> => {
      for (;;) {
        const { value } = await events.next();
        if (value === undefined || value.nodeId === id) return value?.type ?? "nothing";
      }
    };
    const far = await rigs.a.online(id);
    expect(await next()).toBe("node.online");
    far.say({ type: "goodbye" });
    expect(await next()).toBe("node.offline");
    leaving.abort();
  });

  it("the same agent's new socket at B takes the node from A, whose old session writes nothing more", async () => {
    const { id } = await rigs.a.node();
    const old = await rigs.a.online(id, { instanceId: "one" });
    const row = await rigs.a.start(id, { status: "queued" });
    await rigs.b.online(id, { instanceId: "one" });
    await old.closed;
    expect(rigs.b.hub.here(id)).toBe(id);
    expect((await rigs.a.store.nodes.find(id))?.heldBy).toBe(rigs.b.cluster.self);
    expect((await rigs.a.store.processes.get(row.id))?.revision).toBe(0);
  });

  it("another agent with the same key is a duplicate at B while the one at A answers, and takes its place when it does not", async () => {
    const { id } = await rigs.a.node();
    const old = await rigs.a.online(id, { instanceId: "one" });
    const copy = rigs.b.agent(id);
    copy.instanceId = "two";
    copy.hello();
    await old.next("probe");
    old.say({ type: "ping" });
    expect(await copy.closed).toMatchObject({ code: 4409 });
    const asking = rigs.b.agent(id);
    asking.hello({ asks: true });
    await old.next("probe");
    old.say({ type: "ping" });
    expect(await asking.closed).toMatchObject({ code: 4409 });

    const heir = rigs.b.agent(id);
    heir.instanceId = "three";
    heir.hello();
    await old.next("probe");
    await heir.next("welcome");
    await old.closed;
  });
});

function nextLook(rig: Rig, topic: `node:${string}`): Promise<void> {
  return new Promise((resolve) => {
    const end = rig.needs.bus.subscribe(topic, () => {
      end();
      resolve();
    });
  });
}
