import { describe, expect, it } from "vitest";
import type { Launch } from "#shared/link/launch.ts";
import { type Node, useFanoutService } from "./fanout-service.ts";
import { Reader, type Event } from "./stream-reader.ts";

const bytesOf = (events: Event[], node: string | undefined): Buffer =>
  Buffer.concat(
    events
      .filter(({ event, data }) => event === "output" && data["node"] === node)
      .map(({ data }) =>
        data.b64 === undefined ? Buffer.from(data.text ?? "") : Buffer.from(data.b64, "base64"),
      ),
  );
const told = (events: Event[], node: string | undefined) =>
  events
    .filter(({ event, data }) => event === "node" && data["node"] === node)
    .map(({ data }) => data["status"]);
const names = (events: Event[]) => events.map(({ event }) => event);

describe("following a fan-out", () => {
  const fanouts = useFanoutService();
  const nodes = (count: number) => fanouts.nodes(count);
  const created = (body: object = {}) => fanouts.created(body);
  const open = async (id: string, lastId?: string): Promise<Reader> =>
    new Reader(
      await fanouts.service.fetch(`/v1/fanouts/${id}/events`, {
        headers: lastId === undefined ? {} : { "last-event-id": lastId },
      }),
    );
  const processOn = async ({ played }: Node): Promise<string> => {
    await expect.poll(() => played.launches.length).toBeGreaterThan(0);
    return played.launches.at(-1)?.id ?? "";
  };

  it("tells of each node that it runs, what it writes and how it ended, and at last how all did", async () => {
    const [one, other] = await nodes(2);
    if (!one || !other) throw new Error("no nodes");
    const id = await created();
    const reader = await open(id);
    expect(await reader.next()).toMatchObject({ event: "start", data: { id, status: "running" } });
    const [first, second] = [await processOn(one), await processOn(other)];
    const begun = [await reader.until("node"), await reader.until("node")];
    expect(begun.map(({ data }) => [data["node"], data["status"], data["processId"]])).toEqual(
      expect.arrayContaining([
        [one.name, "running", first],
        [other.name, "running", second],
      ]),
    );
    one.played.write(first, "from one");
    expect(await reader.until("output")).toMatchObject({
      data: {
        node: one.name,
        nodeId: one.id,
        processId: first,
        stream: "merged",
        from: 0,
        to: 8,
        text: "from one",
      },
    });
    other.played.write(second, Uint8Array.of(0xff, 0x00));
    expect((await reader.until("output")).data).toMatchObject({ node: other.name, b64: "/wA=" });
    other.played.exit(second, { exitCode: 2 });
    expect((await reader.until("node")).data).toMatchObject({
      node: other.name,
      status: "failed",
      exitCode: 2,
    });
    one.played.exit(first);
    expect(await reader.rest()).toMatchObject([
      { event: "node", data: { node: one.name, status: "succeeded", exitCode: 0 } },
      {
        event: "exit",
        data: { status: "failed", reason: "node_failures", counts: { failed: 1, succeeded: 1 } },
      },
      { event: "end", data: { status: "failed" } },
    ]);
  });

  it("of an ended one replays everything, long outputs too", async () => {
    const all = await nodes(3);
    const written = [Buffer.from("short"), Buffer.alloc(0), Buffer.alloc(300_000, "0123456789é")];
    for (const [at, { played }] of all.entries())
      played.onStart = ({ id }: Launch) => {
        played.report({ id, status: "running" });
        if ((written[at]?.length ?? 0) > 0) played.write(id, written[at] ?? "");
        played.exit(id);
      };
    const id = await created();
    await fanouts.service.get(`/v1/fanouts/${id}?waitMs=20000`);
    const events = await (await open(id)).rest();
    for (const [at, { name }] of all.entries()) {
      expect(bytesOf(events, name).equals(written[at] ?? Buffer.alloc(0))).toBe(true);
      expect(told(events, name)).toEqual(["succeeded"]);
    }
    expect(names(events).slice(-2)).toEqual(["exit", "end"]);
    const again = await fanouts.service.fetch(`/v1/fanouts/${id}/events`, {
      headers: { "last-event-id": events.at(-1)?.id ?? "" },
    });
    expect(again.status).toBe(204);
  });

  it("resumes behind any event, losing and repeating nothing", async () => {
    const all = await nodes(4);
    for (const [at, { played }] of all.entries())
      played.onStart = ({ id }: Launch) => {
        played.report({ id, status: "running" });
        for (let part = 0; part < 3; part++) played.write(id, `${at}:${part}\n`);
        if (at === 3) played.write(id, Buffer.alloc(200_000, "x"));
        played.exit(id, { exitCode: at === 2 ? 1 : 0 });
      };
    const id = await created({ parallel: 2 });
    const whole: Event[] = [];
    let last: string | undefined;
    // A reader that leaves after each single event.
    for (;;) {
      const reader = await open(id, last);
      const event = await reader.next();
      await reader.leave();
      if (event === undefined) throw new Error("the stream ended early");
      whole.push(event);
      last = event.id;
      if (event.event === "end") break;
    }
    expect(names(whole).filter((name) => name === "start" || name === "exit")).toEqual(["start", "exit"]);
    for (const [at, { name }] of all.entries()) {
      const text = `${at}:0\n${at}:1\n${at}:2\n${at === 3 ? "x".repeat(200_000) : ""}`;
      expect(bytesOf(whole, name).toString()).toBe(text);
      expect(told(whole, name).filter((status) => status !== "running")).toEqual([
        at === 2 ? "failed" : "succeeded",
      ]);
    }
    const replay = await (await open(id)).rest();
    for (const event of replay) {
      const behind = replay.slice(replay.indexOf(event) + 1);
      if (behind.length === 0) continue;
      const rest = await (await open(id, event.id)).rest();
      expect(rest.map(({ id: at }) => at)).toEqual(behind.map(({ id: at }) => at));
    }
  });

  it("names in the id of an event nothing that is told only after it, also where much came at once", async () => {
    const all = await nodes(3);
    for (const { played, name } of all)
      played.onStart = ({ id }: Launch) => {
        played.report({ id, status: "running" });
        played.write(id, `from ${name}`);
      };
    const id = await created();
    await Promise.all(all.map(processOn));
    const reader = await open(id);
    // The stream waits for its reader behind the last of these, and what the nodes before that one wrote comes meanwhile.
    const heard = [await reader.until("node"), await reader.until("node"), await reader.until("node")];
    const isFollowed = ({ played }: Node) => played.told.some(({ type }) => type === "follow");
    await expect.poll(() => all.filter(isFollowed).length).toBe(2);
    heard.push(await reader.until("output"));
    await reader.leave();
    for (const node of all) node.played.exit(await processOn(node));
    heard.push(...(await (await open(id, heard.at(-1)?.id)).rest()));
    for (const { name } of all) expect(bytesOf(heard, name).toString()).toBe(`from ${name}`);
  });

  it("tells changes of status, nodes that never ran, and goes on behind its end after a retry", async () => {
    const [one, other] = await nodes(2);
    if (!one || !other) throw new Error("no nodes");
    one.played.onStart = ({ id }) => one.played.exit(id, { exitCode: 1 });
    const id = await created({ parallel: 1, maxFailures: 1 });
    const reader = await open(id);
    expect((await reader.until("status")).data).toMatchObject({ status: "paused", reason: "max_failures" });
    await fanouts.service.post(`/v1/fanouts/${id}/cancel`);
    const rest = await reader.rest();
    expect(rest.filter(({ event }) => event !== "status")).toMatchObject([
      ...[{ event: "node", data: { node: other.name, status: "canceled", processId: null } }],
      ...[{ event: "exit", data: { status: "canceled" } }, { event: "end" }],
    ]);
    for (const { played } of [one, other]) played.onStart = ({ id: process }) => played.exit(process);
    await fanouts.service.post(`/v1/fanouts/${id}/retry-failed`);
    const after = await (await open(id, rest.at(-1)?.id)).rest();
    for (const { name } of [one, other])
      expect(told(after, name).filter((status) => status !== "running")).toEqual(["succeeded"]);
    expect(names(after).slice(-2)).toEqual(["exit", "end"]);
    expect(names(after)).not.toContain("start");
  });

  it("tells more nodes than are followed at once, each in its turn", async () => {
    const all = await nodes(100);
    const id = await created();
    const reader = await open(id);
    const heard: Event[] = [];
    const reading = (async () => {
      for (let event = await reader.next(); event !== undefined; event = await reader.next())
        heard.push(event);
    })();
    for (const node of all) node.played.write(await processOn(node), `${node.name}\n`);
    await expect
      .poll(() => heard.filter(({ event }) => event === "output").length, { timeout: 10_000 })
      .toBe(64);
    for (const node of all.toReversed()) node.played.exit(await processOn(node));
    await reading;
    expect(names(heard).at(-1)).toBe("end");
    for (const { name } of all) {
      expect(bytesOf(heard, name).toString()).toBe(`${name}\n`);
      expect(told(heard, name).at(-1)).toBe("succeeded");
    }
  });

  it("refuses a position that is malformed or ahead", async () => {
    const [node] = await nodes(1);
    if (node) node.played.onStart = ({ id }) => node.played.report({ id, status: "running" });
    const id = await created();
    if (node) await processOn(node);
    for (const at of [
      "x",
      "5",
      "f1;running;;x",
      "f9;running;;",
      "f1;running;1:5;",
      "f1;running;1:0;",
      "f1;running;2:0;",
      "f1;running;;7.1.0.0.0",
      "f1;running;;0.2.0.0.0",
    ]) {
      const answer = await fanouts.service.get(`/v1/fanouts/${id}/events?from=${encodeURIComponent(at)}`);
      expect([at, answer.status]).toEqual([at, 400]);
      expect(answer.body["issues"]).toMatchObject([{ path: "from" }]);
    }
    await fanouts.service.post(`/v1/fanouts/${id}/cancel`);
  });
});
