import { describe, expect, it } from "vitest";
import type { TokenScope } from "#shared/api/token.ts";
import { newId } from "#shared/ids.ts";
import { inserted } from "../../contract/store-samples.ts";
import { type Node, useFanoutService } from "./fanout-service.ts";
import { Reader } from "./stream-reader.ts";

const fanouts = useFanoutService();

/** Headers of somebody with this scope. */
async function somebody(scope: TokenScope, role = "operator"): Promise<Record<string, string>> {
  const { body } = await fanouts.service.post("/v1/tokens", { name: "somebody", role, scope });
  return { authorization: `Bearer ${String(body["token"])}` };
}

/** A node that the scope `team=g…` has, one that it has not, and somebody with this scope. */
async function insideAndOutside() {
  const [inside, outside] = await fanouts.nodes(2);
  if (!inside || !outside) throw new Error("no nodes");
  const team = `g${fanouts.group}`;
  await label(inside, { team });
  await label(outside, { team: "others" });
  return { inside, outside, by: await somebody({ selector: `team=${team}` }), team };
}
const label = async ({ id }: Node, labels: object) =>
  void (await fanouts.service.send("PATCH", `/v1/nodes/${id}`, { labels }));

const runningOn = async ({ played }: Node): Promise<string> => {
  await expect.poll(() => played.launches.length).toBeGreaterThan(0);
  return played.launches.at(-1)?.id ?? "";
};

describe("with the scope of a selector", () => {
  it("a fan-out runs on nodes inside only, also by `*`", async () => {
    const { service } = fanouts;
    const { inside, outside, by } = await insideAndOutside();
    const made = await fanouts.create({ selector: "*" }, by);
    expect(made).toMatchObject({ status: 201 });
    const nodes = await service.get(`/v1/fanouts/${String(made.body["id"])}/nodes`);
    expect((nodes.body["data"] as { node: string }[]).map(({ node }) => node)).toEqual([inside.name]);
    expect(await fanouts.create({ selector: `name=${outside.name}` }, by)).toMatchObject({
      status: 400,
      body: { issues: [{ path: "selector", message: "matches no node" }] },
    });
  });

  it("of a fan-out that is also outside only what is inside is seen, and it is not steered", async () => {
    const { service } = fanouts;
    const { inside, outside, by } = await insideAndOutside();
    const id = await fanouts.created();
    const stream = new Reader(await service.fetch(`/v1/fanouts/${id}/events`, { headers: by }));
    const [seen, hidden] = [await runningOn(inside), await runningOn(outside)];
    for (const [node, process, text] of [
      [outside, hidden, "secret"],
      [inside, seen, "hello"],
    ] as const) {
      node.played.write(process, text);
      node.played.exit(process);
    }
    const told = await stream.rest();
    expect(told.map(({ event }) => event)).toContain("end");
    expect(JSON.stringify(told)).toContain("hello");
    expect(JSON.stringify(told)).not.toMatch(/secret|-n1/);
    const whole = await service.get(`/v1/fanouts/${id}`);
    expect(whole.body).toMatchObject({ counts: { succeeded: 2 }, groupCount: 2 });
    const part = await service.get(`/v1/fanouts/${id}`, by);
    expect(part.body).toMatchObject({
      ...{ counts: { succeeded: 1 }, groupCount: 1 },
      groups: [{ nodes: [inside.name], text: "hello" }],
    });
    for (const verb of ["pause", "resume", "cancel", "retry-failed"])
      expect((await service.send("POST", `/v1/fanouts/${id}/${verb}`, undefined, by)).status).toBe(403);
    expect((await service.get(`/v1/processes/${seen}/output`, by)).status).toBe(200);
    expect((await service.get(`/v1/processes/${hidden}/output`, by)).status).toBe(404);
  });

  it("the events of nodes outside are not told, and those behind them are", async () => {
    const { service } = fanouts;
    const { inside, outside, by } = await insideAndOutside();
    const listen = async (from?: string): Promise<Reader> =>
      new Reader(
        await service.fetch("/v1/events", { headers: { ...by, ...(from && { "last-event-id": from }) } }),
      );
    const live = await listen();
    const begin = await live.next();
    await service.send("PATCH", `/v1/nodes/${outside.id}`, { maxProcesses: 7 });
    await service.send("PATCH", `/v1/nodes/${inside.id}`, { maxProcesses: 8 });
    await service.send("DELETE", `/v1/nodes/${inside.id}`);
    await service.send("DELETE", `/v1/nodes/${outside.id}`);
    const next = await live.until("node.deleted");
    expect(next.data).toMatchObject({ nodeId: inside.id });
    await live.leave();
    const again = await listen(begin?.id);
    expect((await again.next())?.data).toMatchObject({ nodeId: inside.id });
    await again.leave();
  });

  it("a node that is labelled out of it is not there any more, nor what runs there", async () => {
    const { service } = fanouts;
    const { inside, by } = await insideAndOutside();
    const id = String(
      (await service.post("/v1/processes", { node: inside.name, command: "x" }, by)).body["id"],
    );
    expect((await service.get(`/v1/processes/${id}`, by)).status).toBe(200);
    await label(inside, { team: "others" });
    for (const path of [
      `/v1/processes/${id}`,
      `/v1/nodes/${inside.name}`,
      `/v1/processes?node=${inside.name}`,
    ])
      expect(`${path} ${(await service.get(path, by)).status}`).toBe(`${path} 404`);
  });

  it("is asked behind the shape and before the policy and the state of a node", async () => {
    const { service } = fanouts;
    const { outside, by } = await insideAndOutside();
    const start = (body: object) => service.post("/v1/processes", { node: outside.name, ...body }, by);
    expect((await start({ command: "" })).status).toBe(400);
    expect((await start({ command: "rm -rf /" })).status).toBe(404);
    expect((await start({ command: "x", pty: { cols: 80, rows: 24 } })).status).toBe(404);
    outside.played.cut();
    expect((await start({ command: "x" })).status).toBe(404);
  });

  it("what does not exist and what is out of sight are answered alike", async () => {
    const { service } = fanouts;
    const { outside, by } = await insideAndOutside();
    const { body: started } = await service.post("/v1/processes", { node: outside.name, command: "x" });
    const answers = async (...paths: string[]) =>
      (await Promise.all(paths.map((path) => service.get(path, by)))).map(({ status, body }) => ({
        ...{ status, body: { ...body, requestId: "" } },
      }));
    const [one, other] = await answers(`/v1/nodes/${outside.name}`, "/v1/nodes/nobody");
    expect(one).toEqual(other);
    const [there, nowhere] = await answers(
      `/v1/processes/${String(started["id"])}`,
      `/v1/processes/${newId("proc")}`,
    );
    expect(there).toEqual(nowhere);
  });
});

describe("a fan-out", () => {
  it("of a token that is revoked starts nothing more, and what runs goes on", async () => {
    const { service } = fanouts;
    const [first] = await fanouts.nodes(2);
    if (!first) throw new Error("no nodes");
    const { body: token } = await service.post("/v1/tokens", { name: "x", role: "operator" });
    const id = await fanouts.created({ parallel: 1 }, { authorization: `Bearer ${String(token["token"])}` });
    const process = await runningOn(first);
    await service.send("DELETE", `/v1/tokens/${String(token["id"])}`);
    first.played.exit(process);
    const { body } = await service.get(`/v1/fanouts/${id}?waitMs=20000`);
    expect(body).toMatchObject({ status: "failed", counts: { succeeded: 1, skipped: 1 } });
    expect((await service.get(`/v1/fanouts/${id}/nodes`)).body["data"]).toMatchObject([
      { status: "succeeded" },
      { status: "skipped", reason: "creator_revoked", processId: null },
    ]);
  });

  it("keeps to the scope of its token: a node that has left it meanwhile is skipped", async () => {
    const { service } = fanouts;
    const [first, second] = await fanouts.nodes(2);
    if (!first || !second) throw new Error("no nodes");
    const team = `g${fanouts.group}`;
    for (const node of [first, second]) await label(node, { team });
    const id = await fanouts.created({ parallel: 1 }, await somebody({ selector: `team=${team}` }));
    const process = await runningOn(first);
    await label(second, { team: "others" });
    first.played.exit(process);
    await service.get(`/v1/fanouts/${id}?waitMs=20000`);
    expect((await service.get(`/v1/fanouts/${id}/nodes`)).body["data"]).toMatchObject([
      { status: "succeeded" },
      { status: "skipped", reason: "out_of_scope" },
    ]);
  });
});

describe("with the scope of a chat", () => {
  it("its processes are followed and read, though their node is not to be seen", async () => {
    const { service } = fanouts;
    const [node] = await fanouts.nodes(1);
    if (!node) throw new Error("no node");
    const chatId = newId("chat");
    const by = await somebody({ chatId });
    const { id } = await inserted(service.needs.store, {
      ...{ nodeId: node.id, status: "queued", createdAt: new Date(), queueTtlMs: 60_000 },
      launch: { chatId },
    });
    const stream = new Reader(await service.fetch(`/v1/processes/${id}/events`, { headers: by }));
    expect(await stream.next()).toMatchObject({ event: "start", data: { id, chatId } });
    await stream.leave();
    expect((await service.get("/v1/processes", by)).body["data"]).toMatchObject([{ id }]);
    expect((await service.get(`/v1/processes?node=${node.name}`, by)).status).toBe(404);
    expect((await service.get(`/v1/processes?chat=${newId("chat")}`, by)).body["data"]).toEqual([]);
    expect((await service.get(`/v1/processes/${id}/output`, by)).status).toBe(200);
  });

  it("/v1/me names what it may do", async () => {
    const { service } = fanouts;
    const may = async (scope: TokenScope, role: string) =>
      (await service.get("/v1/me", await somebody(scope, role))).body["may"];
    const chatId = newId("chat");
    expect(await may({ chatId }, "viewer")).toEqual(expect.arrayContaining(["getProcess", "whoAmI"]));
    expect(await may({ chatId }, "operator")).not.toEqual(expect.arrayContaining(["listNodes"]));
    expect(await may({}, "viewer")).not.toContain("startProcess");
    expect(await may({}, "admin")).toContain("createJoinToken");
    expect(await may({ selector: "a=b" }, "admin")).not.toContain("createJoinToken");
  });
});
