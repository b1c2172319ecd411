import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Product } from "../../support/product.ts";

/** Starts and reads on a node that is away or full. */
export const queueing = (product: Product): void => {
  const start = (command: string, more: Record<string, unknown> = {}) =>
    product.api.start({ node: "n2", cwd: product.folder, command, ...more });
  const path = (name: string) => join(product.folder, name);
  const agent = () => product.agents.get("n2");

  describe("a node that is away", () => {
    it("keeps its processes, shows what was last known of them, and runs what waits once it is back", async () => {
      const running = await start("echo up; read -r line; exit 5", { stdin: "pipe" });
      await product.api.printed(running.id, "up");
      const done = await product.api.exec({ node: "n2", command: "seq 1 10000" });
      await agent()?.stop();
      await product.status("n2", "offline");
      expect(await product.api.process(running.id)).toMatchObject({ status: "running", stale: true });
      const known = await product.api.output(done.id);
      expect(known.text).toMatch(/^1\n2\n[^]*\n9999\n10000\n$/);
      expect(known.truncated).toMatchObject({ originalBytes: done.output.totalBytes });

      const offline = { status: 503, value: { code: "node_offline" } };
      const body = { node: "n2", command: "true" };
      expect(await product.api.api("POST /v1/processes", { body })).toMatchObject(offline);
      const stdin = { body: { text: "x" } };
      expect(await product.api.api(`POST /v1/processes/${running.id}/stdin`, stdin)).toMatchObject(offline);

      const waits = { ifOffline: "queue", env: { SECRET: "sesame" }, stdin: { text: "open " } };
      const queued = await start('echo run >>waited; cat; echo "$SECRET"', waits);
      expect(queued).toMatchObject({ status: "queued", pid: null, startedAt: null });
      const canceled = await start("echo run >>canceled", { ifOffline: "queue" });
      expect(await product.api.stop(canceled.id)).toMatchObject({ status: "canceled", exitCode: null });
      const late = await start("echo run >>late", { ifOffline: "queue", queueTtlMs: 1 });
      expect(await product.api.final(late.id)).toMatchObject({ status: "expired", reason: "queue_ttl" });
      expect(await product.node("n2")).toMatchObject({ running: 1, queued: 1 });

      await agent()?.start();
      await product.status("n2", "online");
      expect(await product.api.final(queued.id)).toMatchObject({ status: "exited", exitCode: 0 });
      expect((await product.api.output(queued.id)).text).toBe("open sesame\n");
      expect(readFileSync(path("waited"), "utf8")).toBe("run\n");
      for (const name of ["canceled", "late"]) expect(existsSync(path(name))).toBe(false);
      await product.api.get(`POST /v1/processes/${running.id}/stdin`, { body: { eof: true } });
      expect(await product.api.final(running.id)).toMatchObject({ exitCode: 5, stale: false });
    });
  });

  describe("a node with all places taken", () => {
    it("runs what waits in its order as places come free", async () => {
      await product.api.get("PATCH /v1/nodes/n2", { body: { maxProcesses: 1 } });
      const holds = await start("read -r line", { stdin: "pipe" });
      const started = [];
      for (const n of [1, 2, 3]) started.push(await start(`echo ${n} >>order; exit ${n}`));
      expect((await product.node("n2")).queued).toBe(3);
      await product.api.get(`POST /v1/processes/${holds.id}/stdin`, { body: { eof: true } });
      const done = await Promise.all(started.map(({ id }) => product.api.final(id)));
      expect(done.map(({ exitCode }) => exitCode)).toEqual([1, 2, 3]);
      expect(readFileSync(path("order"), "utf8")).toBe("1\n2\n3\n");
      await product.api.get("PATCH /v1/nodes/n2", { body: { maxProcesses: 256 } });
    });
  });
};
