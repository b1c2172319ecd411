import { describe, expect, it } from "vitest";
import { openService, useService } from "./service.ts";
import { Reader, type Event } from "./stream-reader.ts";

const bytesOf = (events: Event[], stream = "merged"): Buffer =>
  Buffer.concat(
    events
      .filter(({ event, data }) => event === "output" && data.stream === stream)
      .map(({ data }) =>
        data.b64 === undefined ? Buffer.from(data.text ?? "") : Buffer.from(data.b64, "base64"),
      ),
  );
const names = (events: Event[]) => events.map(({ event }) => event);

describe("following a process", () => {
  const { service, node, started } = useService();
  const open = async (id: string, query = "", headers: Record<string, string> = {}): Promise<Reader> =>
    new Reader(await service.fetch(`/v1/processes/${id}/events${query}`, { headers }));
  const followed = () => node.played.told.filter((frame) => frame.type === "follow").length;
  const unfollowed = () => node.played.told.filter((frame) => frame.type === "unfollow").length;

  it("tells start, output as it is written, exit after the last byte, then end", async () => {
    const id = await started();
    const reader = await open(id);
    expect(await reader.next()).toMatchObject({ event: "start", data: { id, status: "running" } });
    node.played.write(id, "one");
    expect(await reader.next()).toMatchObject({
      event: "output",
      data: { stream: "merged", from: 0, to: 3, text: "one" },
    });
    node.played.write(id, "two");
    expect(await reader.next()).toMatchObject({ event: "output", data: { from: 3, to: 6, text: "two" } });
    node.played.exit(id, { exitCode: 5 });
    expect(await reader.rest()).toMatchObject([
      { event: "exit", data: { status: "exited", exitCode: 5, signal: null, reason: null, survivors: [] } },
      { event: "end", data: { status: "exited" } },
    ]);
  });

  it("of an ended process replays everything, from the store without its node, else from the node", async () => {
    for (const size of [100, 3_000_000]) {
      const id = await started();
      const bytes = Buffer.alloc(size, "0123456789é");
      node.played.write(id, bytes);
      node.played.exit(id);
      await service.rig.until(id, (row) => row.status === "exited");
      if (size === 100) node.played.cut();
      const events = await (await open(id)).rest();
      expect(bytesOf(events).equals(bytes)).toBe(true);
      expect(names(events).slice(-2)).toEqual(["exit", "end"]);
      if (size === 100) await node.played.connect();
      for (const { data } of events.filter(({ event }) => event === "output"))
        expect(data.to - data.from).toBeLessThanOrEqual(65_536);
    }
  });

  it("holds a code point that is half written until its rest comes, and tells what never gets whole as bytes", async () => {
    const id = await started();
    const reader = await open(id);
    node.played.write(id, Uint8Array.of(0x61, 0xe2, 0x82));
    expect((await reader.until("output")).data).toMatchObject({ from: 0, to: 1, text: "a" });
    node.played.write(id, Uint8Array.of(0xac, 0xff));
    expect((await reader.next())?.data).toMatchObject({
      from: 1,
      to: 5,
      b64: Buffer.from([0xe2, 0x82, 0xac, 0xff]).toString("base64"),
    });
    node.played.write(id, Uint8Array.of(0xc3));
    node.played.exit(id);
    expect(await reader.rest()).toMatchObject([
      { event: "output", data: { from: 5, to: 6, b64: "ww==" } },
      { event: "exit" },
      { event: "end" },
    ]);
  });

  it("goes on behind any event without loss or repeat", async () => {
    const id = await started();
    node.played.write(id, "aé€😀".repeat(30_000));
    node.played.exit(id, { exitCode: 1 });
    await service.rig.until(id, (row) => row.status === "exited");
    const all = await (await open(id)).rest();
    expect(all.length).toBeGreaterThan(6);
    for (const [at, event] of all.slice(0, -1).entries()) {
      for (const rest of [
        await open(id, "", { "last-event-id": event.id ?? "" }),
        await open(id, `?from=${event.id ?? ""}`),
      ])
        expect(await rest.rest()).toEqual(all.slice(at + 1));
    }
    const over = await service.fetch(`/v1/processes/${id}/events`, {
      headers: { "last-event-id": all.at(-1)?.id ?? "" },
    });
    expect(over.status).toBe(204);
  });

  it("resumes in the middle of a running process where it was, held bytes included", async () => {
    const id = await started();
    const first = await open(id);
    node.played.write(id, Uint8Array.of(0x61, 0xc3));
    const { id: last } = await first.until("output");
    await first.leave();
    node.played.write(id, Uint8Array.of(0xa9, 0x62));
    const second = await open(id, "", { "last-event-id": last ?? "" });
    expect(await second.next()).toMatchObject({ event: "output", data: { from: 1, to: 4, text: "éb" } });
    node.played.exit(id);
    expect(names(await second.rest())).toEqual(["exit", "end"]);
  });

  it("waits when the node's socket goes and goes on where it was when it is back", async () => {
    const id = await started();
    const reader = await open(id);
    node.played.write(id, "before");
    await reader.until("output");
    node.played.cut();
    node.played.write(id, "while away");
    await node.played.connect();
    expect((await reader.until("output")).data).toMatchObject({ from: 6, to: 16, text: "while away" });
    node.played.cut();
    node.played.write(id, "last");
    await node.played.connect();
    node.played.exit(id);
    const events = await reader.rest();
    expect(bytesOf(events).toString()).toBe("last");
    expect(names(events).slice(-2)).toEqual(["exit", "end"]);
  });

  it("of a split process tells both streams, each with its own offsets", async () => {
    const id = await started({ output: "split" });
    const reader = await open(id);
    node.played.write(id, "out", "stdout");
    const first = await reader.until("output");
    expect(first.data).toMatchObject({ stream: "stdout", from: 0, to: 3 });
    await reader.leave();
    node.played.write(id, "err", "stderr");
    node.played.write(id, "put", "stdout");
    node.played.exit(id);
    const rest = await (await open(id, `?from=${first.id ?? ""}`)).rest();
    expect([bytesOf(rest, "stdout").toString(), bytesOf(rest, "stderr").toString()]).toEqual(["put", "err"]);
    expect((await service.get(`/v1/processes/${id}/events?from=1`)).status).toBe(400);
  });

  it("goes on after the exit while survivors write, and ends with the last of them", async () => {
    const id = await started();
    const reader = await open(id);
    node.played.write(id, "leader");
    node.played.exit(id, { survivors: [{ pid: 9, command: "sleep" }] });
    expect((await reader.until("exit")).data).toMatchObject({ survivors: [{ pid: 9, command: "sleep" }] });
    node.played.write(id, "late");
    expect((await reader.until("output")).data).toMatchObject({ from: 6, text: "late" });
    node.played.exit(id, { survivors: [] });
    expect(names(await reader.rest())).toEqual(["end"]);
  });

  it("tells a gap where bytes are no longer kept", async () => {
    const id = await started();
    node.played.write(id, "a".repeat(100) + "b".repeat(100) + "c".repeat(100));
    node.played.punch(id, { from: 100, to: 200 });
    const reader = await open(id);
    expect((await reader.until("gap")).data).toEqual({ stream: "merged", from: 100, to: 200 });
    expect((await reader.next())?.data).toMatchObject({ from: 200, to: 300, text: "c".repeat(100) });
    await reader.leave();
  });

  it("tells gaps for what a forgetful node or a deleted one leaves only head and tail of", async () => {
    const id = await started();
    node.played.write(id, "x".repeat(100_000));
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    node.played.forget(id);
    const forgotten = await (await open(id)).rest();
    expect(forgotten.find(({ event }) => event === "gap")?.data).toMatchObject({ from: 16_384, to: 83_616 });
    expect(names(forgotten).slice(-2)).toEqual(["exit", "end"]);
  });

  it("tells changes of status, from the queue to the end", async () => {
    const away = await service.rig.node();
    const { body } = await service.post("/v1/processes", {
      node: away.id,
      command: "true",
      ifOffline: "queue",
    });
    const reader = await open(String(body["id"]));
    expect(await reader.next()).toMatchObject({ event: "start", data: { status: "queued" } });
    await service.post(`/v1/processes/${String(body["id"])}/stop`);
    expect(await reader.rest()).toMatchObject([
      { event: "exit", data: { status: "canceled", exitCode: null } },
      { event: "end" },
    ]);
  });

  it("begins at a byte offset; one that lies ahead, also ahead of what is stored, is 400", async () => {
    const id = await started();
    node.played.write(id, "0123456789");
    expect((await (await open(id, "?from=4")).until("output")).data).toMatchObject({
      from: 4,
      text: "456789",
    });
    expect(await service.get(`/v1/processes/${id}/events?from=11`)).toMatchObject({
      status: 400,
      body: { issues: [{ path: "from" }] },
    });
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    expect(await service.get(`/v1/processes/${id}/events?from=11`)).toMatchObject({ status: 400 });
    expect(
      await service.get(`/v1/processes/${id}/events`, { "last-event-id": "e1-running-11-0-0" }),
    ).toMatchObject({ status: 400, body: { issues: [{ path: "Last-Event-ID" }] } });
  });

  it("by a client that leaves is over at the node too", async () => {
    const id = await started();
    const reader = await open(id);
    await reader.next();
    void reader.next();
    await expect.poll(followed).toBe(1);
    await reader.leave();
    await expect.poll(unfollowed).toBe(1);
    expect(await service.get(`/v1/processes/${id}`)).toMatchObject({ body: { status: "running" } });
  });

  it("ends without `end` when the control plane closes", async () => {
    const closing = await openService();
    const own = await closing.node();
    const { body } = await closing.post("/v1/processes", { node: own.id, command: "x" });
    const reader = new Reader(await closing.fetch(`/v1/processes/${String(body["id"])}/events`));
    await reader.next();
    closing.closing.abort();
    expect(names(await reader.rest())).not.toContain("end");
    await closing.close();
  });

  it("of an unknown process is 404", async () => {
    expect(await service.get("/v1/processes/proc_01h0000000000000000000000x/events")).toMatchObject({
      status: 404,
    });
  });
});
