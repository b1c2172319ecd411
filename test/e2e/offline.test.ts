import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isFinal } from "#shared/process-state.ts";
import { useProduct, type Agent } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2"] });
const agent = (name = "n1"): Agent => {
  const found = product.agents.get(name);
  if (!found) throw new Error(`no agent ${name}`);
  return found;
};
const goOffline = async (name = "n1") => {
  await agent(name).stop();
  await product.status(name, "offline");
};
const comeBack = async (name = "n1") => {
  await agent(name).start();
  await product.status(name, "online");
};

describe("a node that is stopped in order", () => {
  it("is offline at once, its processes go on, and the next agent finds them", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "echo up; read -r line; echo $line; read -r line; exit 7",
      stdin: "pipe",
    });
    await product.api.printed(id, "up");
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "last\n" } });
    await product.api.printed(id, "last");
    const { pid } = await product.api.process(id);
    expect(await agent().stop()).toEqual({ code: 0, signal: null });
    await product.status("n1", "offline");
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: true, pid });
    expect((await product.api.output(id)).text).toBe("up\nlast\n");
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    expect((await product.node("n1")).running).toBe(1);
    await comeBack();
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { eof: true } });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 7, stale: false, pid });
  });

  it("refuses a start, and takes one that may wait when it is back", async () => {
    await goOffline();
    const body = { node: "n1", cwd: product.folder, command: "echo run >>runs; exit 5" };
    expect(await product.api.api("POST /v1/processes", { body })).toMatchObject({
      status: 503,
      value: { code: "node_offline" },
    });
    const { id, status } = await product.api.start({ ...body, ifOffline: "queue" });
    expect(status).toBe("queued");
    expect((await product.node("n1")).queued).toBe(1);
    const looked = await product.api.get(`GET /v1/processes/${id}`, { query: { waitMs: 0 } });
    expect(looked).toMatchObject({ status: "queued", pid: null, startedAt: null });
    await comeBack();
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
    expect((await product.node("n1")).queued).toBe(0);
  });

  it("does not run what waited too long, or was canceled while it waited", async () => {
    await goOffline();
    const late = await product.api.start({
      node: "n1",
      cwd: product.folder,
      command: "echo run >>late",
      ifOffline: "queue",
      queueTtlMs: 1,
    });
    const stopped = await product.api.start({
      node: "n1",
      cwd: product.folder,
      command: "echo run >>stopped",
      ifOffline: "queue",
    });
    expect(await product.api.stop(stopped.id)).toMatchObject({ status: "canceled", exitCode: null });
    expect(await product.api.final(late.id)).toMatchObject({
      status: "expired",
      reason: "queue_ttl",
      exitCode: null,
    });
    await comeBack();
    expect(await product.api.exec({ node: "n1", command: "exit 0" })).toMatchObject({ status: "exited" });
    for (const name of ["late", "stopped"]) expect(existsSync(join(product.folder, name))).toBe(false);
  });

  it("ends its processes first when it is told to", async () => {
    const stopping = await product.agent("stopping", { flags: ["--stop-processes"] });
    const { id } = await product.api.start({ node: "stopping", command: "echo up; sleep 600 & sleep 600" });
    await product.api.printed(id, "up");
    expect(await stopping.stop()).toEqual({ code: 0, signal: null });
    expect(await product.api.final(id)).toMatchObject({
      status: "killed",
      reason: "agent_stopped",
      survivors: [],
    });
    await product.status("stopping", "offline");
  });
});

describe("a node with all places taken", () => {
  it("runs what waits as places come free, each once and in order", async () => {
    await product.agent("small", { flags: ["--max-processes", "2"] });
    const started = [];
    for (let n = 0; n < 8; n++)
      started.push(
        await product.api.start({
          node: "small",
          cwd: product.folder,
          command: `echo ${n} >>order; sleep 0.1; exit ${n}`,
        }),
      );
    const done = await Promise.all(started.map(({ id }) => product.api.final(id)));
    expect(done.map(({ exitCode }) => exitCode)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(done.every(({ status }) => isFinal(status))).toBe(true);
  });
});

describe("a node that is deleted", () => {
  it("is gone with its key, and what ran there is lost without an invented code", async () => {
    const { id } = await product.api.start({ node: "n2", command: "echo up; sleep 600" });
    await product.api.printed(id, "up");
    expect((await product.api.api("DELETE /v1/nodes/n2")).status).toBe(204);
    expect((await product.api.api("GET /v1/nodes/n2")).status).toBe(404);
    expect(await product.api.final(id)).toMatchObject({
      status: "lost",
      reason: "node_deleted",
      exitCode: null,
    });
    expect((await agent("n2").daemon?.ended)?.code).toBe(2);
  });
});
