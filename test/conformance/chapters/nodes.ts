import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LeaseView, NodeView } from "#shared/api/node.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { eventually } from "../../support/eventually.ts";
import type { Product } from "../../support/product.ts";
import { enrolled, upgrade } from "../wire.ts";

type Page = { data: NodeView[]; nextCursor: string | null };

/** Nodes as an operator sees, changes and holds them. */
export const nodes = (product: Product): void => {
  const list = async (query: Record<string, string | number>) => {
    const { data, nextCursor } = await product.api.get<Page>("GET /v1/nodes", { query });
    return { names: data.map(({ name }) => name), nextCursor };
  };
  const on = (verb: string, body?: object) =>
    product.api.get<NodeView>(`POST /v1/nodes/n2/${verb}`, body === undefined ? {} : { body });
  const post = (body: object, headers: Record<string, string> = {}) =>
    product.api.api<ProcessView & { code: string }>("POST /v1/processes", {
      ...{ body: { node: "n2", ...body }, headers, query: { waitMs: 30_000 } },
    });
  const lease = (body: object, headers: Record<string, string> = {}) =>
    product.api.api<LeaseView & { code: string }>("POST /v1/nodes/n2/lease", { body, headers });

  describe("nodes", () => {
    it("are listed newest first, page by page, by what they are called, labelled and doing", async () => {
      for (const name of ["web-1", "web-2", "web-3"]) {
        await enrolled(product, name);
        const labels = { env: name === "web-3" ? "test" : "prod" };
        await product.api.get(`PATCH /v1/nodes/${name}`, { body: { labels } });
      }
      const first = await list({ selector: "web-*", limit: 2 });
      expect(first.names).toEqual(["web-3", "web-2"]);
      const second = await list({ selector: "web-*", limit: 2, cursor: first.nextCursor ?? "" });
      expect(second).toEqual({ names: ["web-1"], nextCursor: null });
      expect((await list({ selector: "web-*,env=prod" })).names).toEqual(["web-2", "web-1"]);
      expect((await list({ selector: "env in (test)", status: "offline" })).names).toEqual(["web-3"]);
      expect((await list({ status: "online" })).names).toEqual(expect.arrayContaining(["n1", "n2"]));
      for (const selector of ["a b", "web-1"])
        expect(await product.api.api("GET /v1/nodes", { query: { selector } })).toMatchObject({
          status: 400,
          value: { code: "invalid_request", issues: [{ path: "selector" }] },
        });
    });

    it("are found by id and name, renamed, relabelled, and deleted", async () => {
      const { nodeId } = await enrolled(product, "changed");
      const path = `/v1/nodes/${nodeId}`;
      const change = { name: "new-name", labels: { a: "b" }, maxProcesses: 3 };
      expect(await product.api.get(`PATCH ${path}`, { body: change })).toMatchObject(change);
      expect(await product.node("new-name")).toMatchObject({ id: nodeId, ...change });
      expect((await product.api.api("GET /v1/nodes/changed")).status).toBe(404);
      expect(await product.api.api(`PATCH ${path}`, { body: { name: "n1" } })).toMatchObject({
        status: 409,
        value: { code: "conflict" },
      });
      expect((await product.api.api(`PATCH ${path}`, { body: { colour: "red" } })).status).toBe(400);
      expect((await product.api.api(`DELETE ${path}`)).status).toBe(204);
      expect((await product.api.api(`DELETE ${path}`)).status).toBe(404);
    });

    it("that drain take nothing new, stop at their deadline what still runs, and go on when resumed", async () => {
      const { id } = await product.api.start({ node: "n2", command: "echo up; sleep 600" });
      await product.api.printed(id, "up");
      const drained = await on("drain", { reason: "disk" });
      expect(drained).toMatchObject({ draining: { reason: "disk", deadlineAt: null }, running: 1 });
      expect(await post({ command: "true" })).toMatchObject({
        status: 409,
        value: { code: "node_draining" },
      });
      await on("drain", { reason: "disk", deadlineMs: 0 });
      expect(await product.api.final(id)).toMatchObject({ status: "killed", reason: "node_drained" });
      expect(await on("resume")).not.toHaveProperty("draining");
      expect(await post({ command: "exit 3" })).toMatchObject({ status: 201, value: { exitCode: 3 } });
    });

    it("that are leased run what names the lease and nothing else", async () => {
      const taken = await lease({ reason: "kernel", ttlMs: 600_000 });
      expect(taken).toMatchObject({ status: 201, value: { leaseId: expect.any(String) } });
      const held = { "drover-lease": taken.value.leaseId };
      expect((await product.node("n2")).lease).toMatchObject({ reason: "kernel" });
      const isLeased = { status: 409, value: { code: "node_leased" } };
      expect(await lease({ reason: "other", ttlMs: 1000 })).toMatchObject(isLeased);
      expect(await lease({ reason: "longer", ttlMs: 700_000 }, held)).toMatchObject({
        status: 200,
        value: { leaseId: taken.value.leaseId },
      });
      expect(await post({ command: "true" })).toMatchObject(isLeased);
      expect(await post({ command: "exit 6" }, held)).toMatchObject({ status: 201, value: { exitCode: 6 } });
      const release = (headers: Record<string, string>) =>
        product.api.api("DELETE /v1/nodes/n2/lease", { headers });
      expect(await release({ "drover-lease": "lease_other" })).toMatchObject(isLeased);
      expect((await release(held)).status).toBe(204);
      expect(await post({ command: "exit 7" })).toMatchObject({ status: 201, value: { exitCode: 7 } });
    });

    it("get new keys: the socket stays, the old key is void, the agent comes back with the new one", async () => {
      const agent = product.agents.get("n2");
      const stored = () =>
        JSON.parse(readFileSync(join(agent?.dataDir ?? "", "identity.json"), "utf8")) as {
          key: string;
          nextKey?: string;
        };
      const { key } = stored();
      const { id, connectedAt } = await product.node("n2");
      expect(await on("rotate-key")).toMatchObject({ status: "online", connectedAt });
      expect(await upgrade(product, "/v1/agent", `Bearer ${id}.${key}`)).toBe(401);
      await agent?.restart();
      await product.status("n2", "online");
      await eventually(() => stored().nextKey === undefined && stored().key !== key);
      await enrolled(product, "keyless");
      expect(await product.api.api("POST /v1/nodes/keyless/rotate-key")).toMatchObject({
        status: 503,
        value: { code: "node_offline" },
      });
    });
  });
};
