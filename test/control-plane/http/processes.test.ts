import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PlayedNode } from "./played-node.ts";
import { openService, type Service } from "./service.ts";

describe("processes", () => {
  let service: Service;
  let node: { id: string; played: PlayedNode };
  beforeAll(async () => {
    service = await openService();
    node = await service.node();
  });
  afterAll(() => service.close());

  const started = async (body: object = {}): Promise<string> => {
    const answer = await service.post("/v1/processes", { node: node.id, command: "sleep 9", ...body });
    const id = String(answer.body["id"]);
    await service.rig.until(id, (row) => row.status === "running");
    return id;
  };

  it("are listed newest first, page by page, by node, status and labels", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 3; at++) ids.unshift(await started({ labels: { set: "list", at: String(at) } }));
    const page = await service.get(`/v1/processes?label=set=list&limit=2&node=${node.id}`);
    const idsOf = (body: Record<string, unknown>): string[] =>
      (body["data"] as { id: string }[]).map(({ id }) => id);
    expect(idsOf(page.body)).toEqual(ids.slice(0, 2));
    const rest = await service.get(
      `/v1/processes?label=set=list&limit=2&cursor=${String(page.body["nextCursor"])}`,
    );
    expect([idsOf(rest.body), rest.body["nextCursor"]]).toEqual([ids.slice(2), null]);
    expect(
      idsOf((await service.get("/v1/processes?label=set=list&label=at=1&status=running,exited")).body),
    ).toEqual([ids[1]]);
    expect(idsOf((await service.get("/v1/processes?label=set=list&status=exited")).body)).toEqual([]);
    expect(await service.get("/v1/processes?node=nobody")).toMatchObject({ status: 404 });
  });

  it("are waited for until final, by any number of clients, and a late one is answered at once", async () => {
    const id = await started();
    const waiting = [1, 2, 3].map(() => service.get(`/v1/processes/${id}?waitMs=60000`));
    node.played.exit(id, { exitCode: 7 });
    for (const answer of await Promise.all(waiting))
      expect(answer.body).toMatchObject({ status: "exited", exitCode: 7 });
    expect((await service.get(`/v1/processes/${id}?waitMs=60000`)).body).toMatchObject({ exitCode: 7 });
  });

  it("keep their last status and say that it is stale while their node is away", async () => {
    const other = await service.node();
    const { body } = await service.post("/v1/processes", { node: other.id, command: "x" });
    const id = String(body["id"]);
    await service.rig.until(id, (row) => row.status === "running");
    other.played.cut();
    expect((await service.get(`/v1/processes/${id}`)).body).toMatchObject({
      status: "running",
      stale: true,
      observedAt: expect.any(String),
    });
    expect(await service.post(`/v1/processes/${id}/signal`, { signal: "TERM" })).toMatchObject({
      status: 503,
      body: { code: "node_offline" },
    });
  });

  it("are sent signals under either name; one that has ended is 409", async () => {
    const id = await started();
    expect(
      await service.post(`/v1/processes/${id}/signal`, { signal: "SIGUSR1", scope: "leader" }),
    ).toMatchObject({ status: 200 });
    expect(node.played.told).toContainEqual(
      expect.objectContaining({ type: "signal", id, signal: "USR1", scope: "leader" }),
    );
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    expect(await service.post(`/v1/processes/${id}/signal`, { signal: "TERM" })).toMatchObject({
      status: 409,
      body: { code: "process_not_running" },
    });
  });

  it("whose leader has ended are still sent signals while survivors live", async () => {
    const id = await started();
    node.played.exit(id, { survivors: [{ pid: 9, command: "sleep" }] });
    await service.rig.until(id, (row) => row.status === "exited");
    expect(await service.post(`/v1/processes/${id}/signal`, { signal: "KILL" })).toMatchObject({
      status: 200,
    });
    expect(await service.send("DELETE", `/v1/processes/${id}`)).toMatchObject({ status: 409 });
  });

  it("are stopped: the node is asked, the answer is the final row; an ended one is answered as it is", async () => {
    const id = await started({ graceMs: 600_000 });
    const stopping = service.post(`/v1/processes/${id}/stop`);
    await expect
      .poll(() => node.played.told)
      .toContainEqual({ type: "stop", id, graceMs: 600_000, reason: "stopped" });
    expect((await service.get(`/v1/processes/${id}`)).body).toMatchObject({ status: "stopping" });
    node.played.report({ id, status: "killed", reason: "stopped", signal: "TERM" });
    expect(await stopping).toMatchObject({
      status: 200,
      body: { status: "killed", reason: "stopped", signal: "TERM" },
    });
    expect(await service.post(`/v1/processes/${id}/stop`, { graceMs: 1 })).toMatchObject({
      status: 200,
      body: { status: "killed" },
    });
  });

  it("that are queued are canceled by a stop and never sent", async () => {
    const away = await service.rig.node();
    const { body } = await service.post("/v1/processes", {
      node: away.id,
      command: "true",
      ifOffline: "queue",
    });
    expect(await service.post(`/v1/processes/${String(body["id"])}/stop`)).toMatchObject({
      status: 200,
      body: { status: "canceled" },
    });
  });

  it("are stopped by their key", async () => {
    const id = await started({ key: "by-key" });
    const stopping = service.post("/v1/processes/cancel", { node: node.id, key: "by-key" });
    await expect.poll(() => node.played.told).toContainEqual(expect.objectContaining({ type: "stop", id }));
    node.played.report({ id, status: "killed", reason: "stopped" });
    expect(await stopping).toMatchObject({
      status: 200,
      body: { fenced: false, process: { id, status: "killed" } },
    });
  });

  it("take bytes on an open stdin only", async () => {
    node.played.onRequest = (frame) =>
      frame.type === "stdin" ? { writtenBytes: Buffer.from(frame.b64, "base64").length } : {};
    const open = await started({ stdin: "pipe" });
    expect(await service.post(`/v1/processes/${open}/stdin`, { text: "é", eof: true })).toMatchObject({
      status: 200,
      body: { writtenBytes: 2 },
    });
    const none = await started();
    expect(await service.post(`/v1/processes/${none}/stdin`, { text: "a" })).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    node.played.exit(open);
    await service.rig.until(open, (row) => row.status === "exited");
    expect(await service.post(`/v1/processes/${open}/stdin`, { eof: true })).toMatchObject({
      status: 409,
      body: { code: "process_not_running" },
    });
  });

  it("get a new limit once their node has taken it", async () => {
    const id = await started();
    node.played.onRequest = () => ({ error: { code: "unavailable", message: "busy" } });
    expect(await service.post(`/v1/processes/${id}/extend`, { timeoutMs: 5000 })).toMatchObject({
      status: 503,
    });
    expect((await service.get(`/v1/processes/${id}`)).body).toMatchObject({ timeoutMs: null });
    node.played.onRequest = () => ({});
    expect(await service.post(`/v1/processes/${id}/extend`, { timeoutMs: 5000 })).toMatchObject({
      status: 200,
      body: { timeoutMs: 5000 },
    });
  });

  it("are deleted with their output once ended, and their node forgets them", async () => {
    const id = await started();
    expect(await service.send("DELETE", `/v1/processes/${id}`)).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    expect(await service.send("DELETE", `/v1/processes/${id}`)).toMatchObject({ status: 204 });
    expect(node.played.told).toContainEqual({ type: "forget", ids: [id] });
    expect(await service.get(`/v1/processes/${id}`)).toMatchObject({ status: 404 });
  });

  it("are waited for by condition: what the node sees first, or the exit", async () => {
    const id = await started();
    node.played.onRequest = (frame) =>
      frame.type === "wait" && frame.pattern?.text === "ready"
        ? { met: "pattern", match: { from: 0, to: 5, text: "ready" } }
        : { met: null };
    const seen = await service.post(`/v1/processes/${id}/wait`, {
      for: ["exit", "pattern"],
      pattern: "ready",
      waitMs: 60_000,
    });
    expect(seen.body).toMatchObject({
      met: "pattern",
      match: { from: 0, to: 5, text: "ready" },
      process: { id },
    });
    const exit = service.post(`/v1/processes/${id}/wait`, { for: ["exit"], waitMs: 60_000 });
    node.played.exit(id);
    expect((await exit).body).toMatchObject({ met: "exit", process: { status: "exited" } });
    expect(
      (await service.post(`/v1/processes/${id}/wait`, { for: ["pattern"], pattern: "never", waitMs: 60_000 }))
        .body,
    ).toMatchObject({ met: null });
  });

  it("a pattern that the node refuses is 400 or 422, as it says", async () => {
    const id = await started();
    node.played.onRequest = () => ({ error: { code: "invalid_request", message: "missing )" } });
    expect(
      await service.post(`/v1/processes/${id}/wait`, { for: ["pattern"], pattern: "(", regex: true }),
    ).toMatchObject({ status: 400, body: { issues: [{ path: "pattern" }] } });
    node.played.onRequest = () => ({ error: { code: "pattern_too_slow", message: "too slow" } });
    expect(await service.get(`/v1/processes/${id}/output?grep=x&regex=true`)).toMatchObject({
      status: 422,
      body: { code: "pattern_too_slow" },
    });
  });
});
