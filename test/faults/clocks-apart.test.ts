import { beforeAll, describe, expect, it } from "vitest";
import type { NodeView } from "#shared/api/node.ts";
import type { Api } from "../support/api.ts";
import { useProduct } from "../support/product.ts";

const minute = 60_000;
const product = useProduct();

/** Lets a program believe that it is later. */
const ahead = (ms: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const Own=Date;globalThis.Date=class extends Own{constructor(...of){of.length===0?super(Own.now()+${ms}):super(...of)}static now(){return Own.now()+${ms}}}`,
  )}`,
});

describe("two control planes whose machines' clocks are ten minutes apart", () => {
  let b: { api: Api };

  beforeAll(async () => {
    b = await product.anotherControlPlane(ahead(10 * minute));
    await product.agent("n1");
  }, 120_000);

  it("agree whether a lease is over", async () => {
    const lease = { body: { reason: "mine", ttlMs: 5 * minute } };
    const { leaseId } = await product.api.get<{ leaseId: string }>("POST /v1/nodes/n1/lease", lease);
    expect((await b.api.api("POST /v1/nodes/n1/lease", lease)).value).toMatchObject({ code: "node_leased" });
    expect(
      (await b.api.api("POST /v1/processes", { body: { node: "n1", command: "true" } })).value,
    ).toMatchObject({
      code: "node_leased",
    });
    const headers = { "drover-lease": leaseId };
    expect((await b.api.api("DELETE /v1/nodes/n1/lease", { headers })).status).toBe(204);
  });

  it("say the same times", async () => {
    const seen = await Promise.all(
      [product.api, b.api].map(async (api) => {
        const { id } = await api.start({ node: "n1", command: "true" });
        return Date.parse((await b.api.process(id)).createdAt);
      }),
    );
    expect(Math.abs((seen[0] ?? 0) - (seen[1] ?? 0))).toBeLessThan(minute);
    expect((await b.api.get<NodeView>("GET /v1/nodes/n1")).status).toBe("online");
  });
});
