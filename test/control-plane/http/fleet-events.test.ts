import { createHash, randomBytes } from "node:crypto";
import { createParser } from "eventsource-parser";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventId } from "../../../control-plane/actions/event-id.ts";
import { openService, type Service } from "./service.ts";

type Heard = { id: string | undefined; event: string; data: Record<string, unknown> };

describe("GET /v1/events", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  /** Events as they come; a `next` that finds none waits. */
  async function listen(query = "", headers: Record<string, string> = {}) {
    const leaving = new AbortController();
    const answer = await service.fetch(`/v1/events${query}`, { headers, signal: leaving.signal });
    if (answer.status !== 200 || answer.body === null) throw new Error(`answered ${answer.status}`);
    const heard: Heard[] = [];
    const parser = createParser({
      onEvent: ({ id, event = "", data }) => void heard.push({ id, event, data: JSON.parse(data) }),
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    return {
      async next(): Promise<Heard> {
        while (heard.length === 0) {
          const { value, done } = await reader.read();
          if (done) throw new Error("the stream ended");
          parser.feed(value);
        }
        return heard.shift() as Heard;
      },
      async nextOf(nodeId: string): Promise<Heard> {
        for (;;) {
          const event = await this.next();
          if (event.data["nodeId"] === nodeId) return event;
        }
      },
      /** Whether the stream ends without another event. */
      ends: async () => (await reader.read()).done,
      leave: () => reader.cancel(),
    };
  }

  const enroll = async (name: string): Promise<string> => {
    const { body } = await service.post("/v1/join-tokens", {});
    const keyHash = createHash("sha256").update(randomBytes(32)).digest("hex");
    const node = await service.post("/v1/enroll", { joinToken: body["token"], name, keyHash });
    return String(node.body["nodeId"]);
  };

  it("tells what happens to a node from now on: its name, its changes, its coming and going, its end", async () => {
    const stream = await listen();
    expect(await stream.next()).toMatchObject({ event: "begin", id: expect.any(String) });
    const id = await enroll("told");
    expect(await stream.nextOf(id)).toEqual({
      id: expect.any(String),
      event: "node.enrolled",
      data: {
        type: "node.enrolled",
        at: expect.stringMatching(/Z$/),
        nodeId: id,
        data: { name: "told", replaced: false },
      },
    });
    const agent = await service.rig.online(id);
    expect(await stream.nextOf(id)).toMatchObject({ event: "node.online", data: { data: { name: "told" } } });
    await service.send("PATCH", "/v1/nodes/told", { name: "new", labels: { a: "b" } });
    expect(await stream.nextOf(id)).toMatchObject({
      event: "node.changed",
      data: { data: { name: "new", changed: ["name", "labels"] } },
    });
    agent.cut();
    expect(await stream.nextOf(id)).toMatchObject({ event: "node.unreachable" });
    await service.rig.online(id);
    expect(await stream.nextOf(id)).toMatchObject({ event: "node.online" });
    await service.send("DELETE", "/v1/nodes/new");
    expect(await stream.nextOf(id)).toMatchObject({ event: "node.deleted", data: { data: { name: "new" } } });
    await stream.leave();
  });

  it.each([
    ["POST", "drain", { reason: "r" }, "draining"],
    ["POST", "resume", {}, "draining"],
    ["POST", "lease", { reason: "r", ttlMs: 60_000 }, "lease"],
    ["DELETE", "lease", undefined, "lease"],
    ["POST", "rotate-key", {}, "key"],
  ])("tells of %s …/%s as a change of the node", async (method, verb, body, changed) => {
    const { id, played } = await service.node();
    played.onRequest = () => ({ keyHash: createHash("sha256").update(id).digest("hex") });
    const stream = await listen();
    await stream.next();
    expect((await service.send(method, `/v1/nodes/${id}/${verb}`, body)).status).toBeLessThan(300);
    const told = await stream.nextOf(id);
    // That it came online may come behind `begin`, too, where another transaction of the server was open then.
    expect(told.event === "node.online" ? await stream.nextOf(id) : told).toMatchObject({
      event: "node.changed",
      data: { data: { name: expect.any(String), changed: [changed] } },
    });
    await stream.leave();
  });

  it("goes on behind the last id, also behind that of `begin`, losing and repeating nothing", async () => {
    const first = await listen();
    const begin = await first.next();
    await first.leave();
    const [a, b] = [await enroll("resume-a"), await enroll("resume-b")];
    const again = await listen("", { "last-event-id": String(begin.id) });
    const told = await again.nextOf(a);
    await again.leave();
    const rest = await listen(`?from=${told.id}`);
    expect(await rest.next()).toMatchObject({ event: "node.enrolled", data: { nodeId: b } });
    await rest.leave();
    const header = await listen(`?from=${begin.id}`, { "last-event-id": String(told.id) });
    expect((await header.next()).data["nodeId"]).toBe(b);
    await header.leave();
  });

  it("ids compare as texts in the order of their events", async () => {
    const ids = [
      { transaction: 9n, id: 300 },
      { transaction: 700n, id: 2 },
      { transaction: 700n, id: 10 },
      { transaction: 2n ** 40n, id: 1 },
    ].map(eventId);
    expect(ids.toSorted()).toEqual(ids);
  });

  it.each(["nonsense", "0", "", "00000000000001-0000000000000g", "1-1", "ffffffffffffff-ffffffffffffff"])(
    "an id that is none (%s) is a bad request that names it",
    async (id) => {
      const answer = await service.get(`/v1/events?from=${encodeURIComponent(id)}`);
      expect(answer).toMatchObject({
        status: 400,
        body: { code: "invalid_request", issues: [{ path: "from" }] },
      });
      if (id === "") return;
      expect(await service.get("/v1/events", { "last-event-id": id })).toMatchObject({
        status: 400,
        body: { issues: [{ path: "Last-Event-ID" }] },
      });
    },
  );

  it("an id that lies ahead is a bad request, and one whose followers are forgotten is `cursor_expired`", async () => {
    const stream = await listen();
    const begin = await stream.next();
    const id = await enroll("forgotten");
    const told = await stream.nextOf(id);
    const [transaction = "", number = ""] = String(told.id).split("-");
    const ahead = `${transaction}-${(Number.parseInt(number, 16) + 1).toString(16).padStart(14, "0")}`;
    expect(await service.get(`/v1/events?from=${ahead}`)).toMatchObject({ status: 400 });
    await service.rig.store.events.prune(new Date(Date.now() + 60_000));
    expect(await service.get(`/v1/events?from=${begin.id}`)).toMatchObject({
      status: 410,
      body: { code: "cursor_expired" },
    });
    await stream.leave();
  });

  it("needs a token, and ends when the control plane closes", async () => {
    expect(await service.get("/v1/events", { authorization: "" })).toMatchObject({ status: 401 });
    const stream = await listen();
    await stream.next();
    service.closing.abort();
    expect(await stream.ends()).toBe(true);
  });
});
