import { describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import type { Launch } from "#shared/link/launch.ts";
import { tick } from "../../../control-plane/scheduler/tick.ts";
import { eventually } from "../../support/eventually.ts";
import type { PlayedNode } from "./played-node.ts";
import { type Node, useFanoutService } from "./fanout-service.ts";

describe("a fan-out", () => {
  const fanouts = useFanoutService();
  const nodes = (count: number) => fanouts.nodes(count);
  const create: typeof fanouts.create = (...asked) => fanouts.create(...asked);
  const created = (body: object = {}) => fanouts.created(body);
  const view = async (id: string): Promise<FanoutView> =>
    (await fanouts.service.get(`/v1/fanouts/${id}`)).body as unknown as FanoutView;
  const rows = async (id: string): Promise<FanoutNodeView[]> =>
    (await fanouts.service.get(`/v1/fanouts/${id}/nodes?limit=200`)).body["data"] as FanoutNodeView[];
  const statuses = async (id: string) => (await rows(id)).map(({ status }) => status);
  const final = async (id: string): Promise<FanoutView> => {
    const { body } = await fanouts.service.get(`/v1/fanouts/${id}?waitMs=20000`);
    return body as unknown as FanoutView;
  };
  const endWith =
    (played: PlayedNode, text: string, exitCode = 0) =>
    ({ id }: Launch): void => {
      played.report({ id, status: "running" });
      if (text !== "") played.write(id, text);
      played.exit(id, { exitCode });
    };
  const allEndWith = (all: Node[], text: string): void => {
    for (const { played } of all) played.onStart = endWith(played, text);
  };

  it("has a waiting row for each node from the start, runs on each, and folds equal outputs", async () => {
    const all = await nodes(4);
    allEndWith(all, "same\n");
    const [first, , , last] = all;
    if (first) first.played.onStart = endWith(first.played, "mine\n");
    if (last) last.played.onStart = endWith(last.played, "bad\n", 3);
    const answer = await create();
    expect(answer).toMatchObject({ status: 201, body: { status: "running", groups: [], endedAt: null } });
    const id = String(answer.body["id"]);
    const { counts } = answer.body as unknown as FanoutView;
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(4);
    const done = await final(id);
    expect(done).toMatchObject({
      ...{ status: "failed", reason: "node_failures", groupCount: 3 },
      counts: {
        succeeded: 3,
        failed: 1,
        waiting: 0,
        running: 0,
        skipped: 0,
        timed_out: 0,
        canceled: 0,
        lost: 0,
      },
      groups: [
        { count: 2, nodes: [all[1]?.name, all[2]?.name], exitCode: 0, text: "same\n", truncated: null },
        { count: 1, nodes: [first?.name], exitCode: 0, text: "mine\n" },
        { count: 1, nodes: [last?.name], status: "failed", exitCode: 3, text: "bad\n" },
      ],
    });
    expect(await rows(id)).toMatchObject(
      all.map(({ id: nodeId, name }, position) => ({ node: name, nodeId, position, attempt: 1 })),
    );
    const { body } = await fanouts.service.get(`/v1/processes?fanout=${id}`);
    expect(body["data"]).toHaveLength(4);
    expect(body["data"]).toMatchObject(Array.from({ length: 4 }, () => ({ fanoutId: id, status: "exited" })));
    for (const { played } of all) expect(played.launches).toHaveLength(1);
  });

  it("is succeeded when every node succeeded", async () => {
    allEndWith(await nodes(2), "");
    expect(await final(await created())).toMatchObject({
      ...{ status: "succeeded", reason: null, endedAt: expect.any(String) },
      groups: [{ count: 2, text: "", exitCode: 0 }],
    });
  });

  it("is refused before anything is stored", async () => {
    await nodes(1);
    const before = (await fanouts.service.get("/v1/fanouts?limit=200")).body["data"];
    for (const [body, status, code, path] of [
      [{ selector: undefined }, 400, "invalid_request", "selector"],
      [{ selector: " " }, 400, "invalid_request", "selector"],
      [{ selector: "a b" }, 400, "invalid_request", "selector"],
      [{ selector: "nobody-*" }, 400, "invalid_request", "selector"],
      [{ process: undefined }, 400, "invalid_request", "process"],
      [{ process: {} }, 400, "invalid_request", "process.command"],
      [{ process: { command: "x", argv: ["y"] } }, 400, "invalid_request", "process.command"],
      [{ process: { command: "x", node: "n" } }, 400, "invalid_request", "process.node"],
      [{ process: { command: "x", key: "k" } }, 400, "invalid_request", "process.key"],
      [{ process: { command: "x", cwd: "relative" } }, 400, "invalid_request", "process.cwd"],
      [{ parallel: "0%" }, 400, "invalid_request", "parallel"],
      [{ parallel: "101%" }, 400, "invalid_request", "parallel"],
      [{ parallel: "many" }, 400, "invalid_request", "parallel"],
      [{ canary: 0 }, 400, "invalid_request", "canary"],
      [{ canary: "10%" }, 400, "invalid_request", "canary"],
      [{ staggerMs: -1 }, 400, "invalid_request", "staggerMs"],
      [{ ifOffline: "maybe" }, 400, "invalid_request", "ifOffline"],
      [{ expiresMs: 0 }, 400, "invalid_request", "expiresMs"],
      [{ surprise: 1 }, 400, "invalid_request", "surprise"],
      [{ process: { command: "rm -rf /" } }, 422, "command_refused", undefined],
      [{ process: { command: "x", pty: { cols: 80, rows: 24 } } }, 422, "not_supported", undefined],
    ] as const) {
      const answer = await create(body);
      expect([body, answer.status, answer.body["code"]]).toEqual([body, status, code]);
      if (path !== undefined) expect(answer.body["issues"]).toMatchObject([{ path }]);
    }
    expect((await fanouts.service.get("/v1/fanouts?limit=200")).body["data"]).toEqual(before);
  });

  it.each([
    ["parallel", "150%"],
    ["parallel", 0],
    ["parallel", 10_001],
    ["parallel", null],
    ["maxFailures", 0],
    ["maxFailures", "0%"],
  ])("says of a wrong share (%s: %j) in one sentence what is right", async (path, value) => {
    const message = "must be a number of nodes from 1 to 10000, or a share from 1% to 100%";
    expect((await create({ [path]: value })).body["issues"]).toEqual([{ path, message }]);
  });

  it("is refused when a bare word of its selector is the name of a node and no label of any", async () => {
    const [one, other] = await nodes(2);
    const name = one?.name ?? "";
    const message = `"${name}" is the name of a node, not a label: write name=${name} (or name!=${name})`;
    for (const selector of [`!${name}`, name, `name=*,! ${name}`])
      expect(await create({ selector })).toMatchObject({
        status: 400,
        body: { code: "invalid_request", issues: [{ path: "selector", message }] },
      });
    await fanouts.service.send("PATCH", `/v1/nodes/${other?.id}`, { labels: { [name]: "" } });
    expect((await create({ selector: name })).status).toBe(201);
  });

  it("is made once for an Idempotency-Key", async () => {
    const all = await nodes(2);
    allEndWith(all, "");
    const key = { "idempotency-key": "once" };
    const [one, other] = await Promise.all([create({}, key), create({}, key)]);
    expect(one.body["id"]).toBe(other.body["id"]);
    await final(String(one.body["id"]));
    for (const { played } of all) expect(played.launches).toHaveLength(1);
    expect(await create({ parallel: 1 }, key)).toMatchObject({
      status: 409,
      body: { code: "idempotency_mismatch" },
    });
  });

  it("is listed newest first, and its nodes are paged", async () => {
    allEndWith(await nodes(3), "");
    const [older, newer] = [await created(), await created()];
    const first = await fanouts.service.get("/v1/fanouts?limit=1");
    expect(first.body).toMatchObject({ data: [{ id: newer }], nextCursor: newer });
    expect((await fanouts.service.get(`/v1/fanouts?limit=1&cursor=${newer}`)).body).toMatchObject({
      data: [{ id: older }],
    });
    const page = await fanouts.service.get(`/v1/fanouts/${newer}/nodes?limit=2`);
    expect(page.body).toMatchObject({ data: [{ position: 0 }, { position: 1 }], nextCursor: "1" });
    const rest = await fanouts.service.get(`/v1/fanouts/${newer}/nodes?limit=2&cursor=1`);
    expect(rest.body).toMatchObject({ data: [{ position: 2 }], nextCursor: null });
    expect((await fanouts.service.get(`/v1/fanouts/${newer}/nodes?cursor=x`)).status).toBe(400);
    for (const path of ["fan_00000000000000000000000000", "fan_x", "proc_00000000000000000000000000"])
      for (const answer of [
        await fanouts.service.get(`/v1/fanouts/${path}`),
        await fanouts.service.get(`/v1/fanouts/${path}/nodes`),
        await fanouts.service.get(`/v1/fanouts/${path}/events`),
        await fanouts.service.post(`/v1/fanouts/${path}/pause`),
        await fanouts.service.post(`/v1/fanouts/${path}/cancel`),
        await fanouts.service.post(`/v1/fanouts/${path}/retry-failed`),
      ])
        expect(answer.status).toBe(404);
  });

  it("passes env and stdin text on to every node, and stores neither in the open", async () => {
    const all = await nodes(2);
    allEndWith(all, "");
    const process = { command: "x", env: { KEY: "very-secret" }, stdin: { text: "top-secret" } };
    const id = await created({ process });
    await final(id);
    for (const { played } of all)
      expect(played.launches).toMatchObject([{ env: { KEY: "very-secret" }, stdin: { text: "top-secret" } }]);
    expect(JSON.stringify(await fanouts.service.needs.store.fanouts.get(id))).not.toMatch(/secret/);
    expect(await fanouts.service.needs.store.fanouts.sealed(id)).toBeNull();
  });

  it("runs no more at once than parallel allows, and the canaries alone before all others", async () => {
    const all = await nodes(5);
    const id = await created({ parallel: 2, canary: 1 });
    const running = async () =>
      (await rows(id)).filter(({ status }) => status === "running").map(({ node }) => node);
    const end = (name: string): void => {
      const node = all.find((each) => each.name === name);
      node?.played.exit(node.played.launches[0]?.id ?? "", { exitCode: 0 });
    };
    const started = () => all.filter(({ played }) => played.launches.length > 0).map(({ name }) => name);
    const names = all.map(({ name }) => name);
    for (const [step, expected] of [
      [undefined, names.slice(0, 1)],
      [0, names.slice(1, 3)],
      [2, [names[1], names[3]]],
      [1, names.slice(3, 5)],
    ] as const) {
      if (step !== undefined) end(names[step] ?? "");
      await eventually(async () => JSON.stringify(await running()) === JSON.stringify(expected));
      await eventually(() => expected.every((name) => started().includes(name ?? "")));
      expect(started().length).toBeLessThanOrEqual(names.indexOf(expected.at(-1) ?? "") + 1);
    }
    for (const name of names.slice(3)) end(name);
    expect(await final(id)).toMatchObject({ status: "succeeded" });
  });

  it("pauses when too many nodes failed; a resume goes on, a retry runs the failed again", async () => {
    const all = await nodes(4);
    for (const { played } of all) played.onStart = endWith(played, "", 1);
    const id = await created({ parallel: 1, maxFailures: 2 });
    await eventually(async () => (await view(id)).status === "paused");
    expect(await view(id)).toMatchObject({ reason: "max_failures", counts: { failed: 2, waiting: 2 } });
    allEndWith(all, "good");
    expect((await fanouts.service.post(`/v1/fanouts/${id}/resume`)).body).toMatchObject({
      status: "running",
    });
    expect(await final(id)).toMatchObject({ status: "failed", counts: { failed: 2, succeeded: 2 } });
    expect((await fanouts.service.post(`/v1/fanouts/${id}/resume`)).status).toBe(409);
    expect((await fanouts.service.post(`/v1/fanouts/${id}/pause`)).status).toBe(409);
    expect((await fanouts.service.post(`/v1/fanouts/${id}/retry-failed`)).body).toMatchObject({
      status: "running",
    });
    expect(await final(id)).toMatchObject({ status: "succeeded", groups: [{ count: 4, text: "good" }] });
    expect((await rows(id)).map(({ attempt }) => attempt)).toEqual([2, 2, 1, 1]);
    expect(all.map(({ played }) => played.launches.length)).toEqual([2, 2, 1, 1]);
    expect((await fanouts.service.post(`/v1/fanouts/${id}/retry-failed`)).status).toBe(409);
  });

  it("pauses when a canary fails", async () => {
    const [first] = await nodes(3);
    if (first) first.played.onStart = endWith(first.played, "", 1);
    const id = await created({ canary: 1 });
    await eventually(async () => (await view(id)).status === "paused");
    expect(await view(id)).toMatchObject({ reason: "canary_failed", counts: { failed: 1, waiting: 2 } });
    await fanouts.service.post(`/v1/fanouts/${id}/cancel`);
  });

  it("starts nothing while it is paused by hand, and lets go on what runs", async () => {
    const all = await nodes(3);
    const id = await created({ parallel: 1 });
    await eventually(() => all[0]?.played.launches.length === 1);
    expect((await fanouts.service.post(`/v1/fanouts/${id}/pause`)).body).toMatchObject({
      status: "paused",
      reason: "requested",
    });
    all[0]?.played.exit(all[0].played.launches[0]?.id ?? "");
    await eventually(async () => (await statuses(id))[0] === "succeeded");
    expect(await statuses(id)).toEqual(["succeeded", "waiting", "waiting"]);
    allEndWith(all, "");
    await fanouts.service.post(`/v1/fanouts/${id}/resume`);
    expect(await final(id)).toMatchObject({ status: "succeeded" });
  });

  it("when it is canceled stops what runs, starts nothing else, and is canceled once that has ended", async () => {
    const all = await nodes(3);
    const [first] = all;
    const id = await created({ parallel: 1 });
    await eventually(() => first?.played.launches.length === 1);
    const running = first?.played.launches[0]?.id ?? "";
    const canceled = await fanouts.service.post(`/v1/fanouts/${id}/cancel`);
    expect(canceled.body).toMatchObject({
      status: "running",
      reason: "canceling",
      counts: { canceled: 2, running: 1 },
    });
    expect((await fanouts.service.post(`/v1/fanouts/${id}/retry-failed`)).status).toBe(409);
    expect((await fanouts.service.post(`/v1/fanouts/${id}/pause`)).status).toBe(409);
    expect(first?.played.told.filter((frame) => frame.type === "stop")).toMatchObject([{ id: running }]);
    first?.played.report({ id: running, status: "killed", reason: "stopped", exitedAgeMs: 0 });
    expect(await final(id)).toMatchObject({ status: "canceled", reason: null, counts: { canceled: 3 } });
    expect((await fanouts.service.post(`/v1/fanouts/${id}/cancel`)).body).toMatchObject({
      status: "canceled",
    });
    expect(all.slice(1).every(({ played }) => played.launches.length === 0)).toBe(true);
  });

  it("skips nodes that are offline, and is failed when all are", async () => {
    const [there, away] = await nodes(2);
    allEndWith(there === undefined ? [] : [there], "");
    away?.played.cut();
    await eventually(
      async () => (await fanouts.service.get(`/v1/nodes/${away?.id}`)).body["connectedAt"] === null,
    );
    const id = await created();
    expect(await final(id)).toMatchObject({
      status: "failed",
      reason: "nodes_skipped",
      counts: { succeeded: 1, skipped: 1 },
    });
    expect((await rows(id))[1]).toMatchObject({ status: "skipped", reason: "node_offline", processId: null });
    expect(await final(await created({ selector: `name=${away?.name}` }))).toMatchObject({
      ...{ status: "failed", reason: "nodes_skipped", counts: { skipped: 1 }, groups: [] },
    });
  });

  it("waits for nodes that are offline when it may, and skips them when its time has passed", async () => {
    const [node] = await nodes(1);
    node?.played.cut();
    await eventually(
      async () => (await fanouts.service.get(`/v1/nodes/${node?.id}`)).body["connectedAt"] === null,
    );
    const id = await created({ ifOffline: "queue" });
    await tick(fanouts.service.needs, { since: new Date(), prunedAt: new Date() });
    expect(await statuses(id)).toEqual(["waiting"]);
    allEndWith(node === undefined ? [] : [node], "");
    await node?.played.connect();
    await eventually(async () => {
      await tick(fanouts.service.needs, { since: new Date(), prunedAt: new Date() });
      return (await view(id)).status === "succeeded";
    });
    node?.played.cut();
    await eventually(
      async () => (await fanouts.service.get(`/v1/nodes/${node?.id}`)).body["connectedAt"] === null,
    );
    const late = await created({ ifOffline: "queue", expiresMs: 50 });
    expect(await final(late)).toMatchObject({ status: "failed", counts: { skipped: 1 } });
    expect(await rows(late)).toMatchObject([{ status: "skipped", reason: "expired" }]);
  });

  it("skips a node that was deleted, and loses one that is deleted while it runs", async () => {
    const [gone, running] = await nodes(2);
    const id = await created({ parallel: 1, selector: `g${fanouts.group}-*` });
    await eventually(() => gone?.played.launches.length === 1);
    await fanouts.service.send("DELETE", `/v1/nodes/${running?.id}`);
    await fanouts.service.send("DELETE", `/v1/nodes/${gone?.id}`);
    await eventually(async () => {
      await tick(fanouts.service.needs, { since: new Date(), prunedAt: new Date() });
      return (await view(id)).status === "failed";
    });
    expect(await rows(id)).toMatchObject([
      { status: "lost", reason: "node_deleted" },
      { status: "skipped", reason: "node_deleted" },
    ]);
  });
});
