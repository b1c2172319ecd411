import { describe, expect, it } from "vitest";
import type { MadeTokenView } from "#shared/api/token.ts";
import { newId } from "#shared/ids.ts";
import type { Problem } from "../../support/api.ts";
import type { Product } from "../../support/product.ts";
import { Reader } from "../../control-plane/http/stream-reader.ts";

/** Who gets in: tokens, and how they end. */
export const tokens = (product: Product): void => {
  const make = (body: object = {}): Promise<MadeTokenView> =>
    product.api.get("POST /v1/tokens", { body: { name: "ci", role: "operator", ...body } });
  const revoke = (id: string) => product.api.get(`DELETE /v1/tokens/${id}`);
  const me = (token: string | undefined) => product.api.api("GET /v1/me", { token: token ?? "" });

  describe("a token", () => {
    it("says whose it is and is listed, but never shown again", async () => {
      const made = await make({ name: "shown once", scope: { selector: "name=n1" } });
      expect(await me(made.token)).toMatchObject({
        status: 200,
        value: { tokenId: made.id, name: "shown once", role: "operator", scope: { selector: "name=n1" } },
      });
      const listed = await product.api.get<object>("GET /v1/tokens");
      expect(JSON.stringify(listed)).toContain(made.id);
      expect(JSON.stringify(listed)).not.toContain(made.token);
    });

    it("of a viewer changes nothing, and one with a scope sees and touches nothing beyond it", async () => {
      const { token: viewer = "" } = await make({ role: "viewer" });
      const start = (token: string, node: string) =>
        product.api.api<Problem>("POST /v1/processes", {
          ...{ token, query: { waitMs: 20_000 } },
          body: { node, command: "echo hi" },
        });
      expect(await start(viewer, "n1")).toMatchObject({ status: 403, value: { code: "forbidden" } });
      const { token = "" } = await make({ scope: { selector: "name=n1" } });
      expect(await start(token, "n1")).toMatchObject({ status: 201, value: { status: "exited" } });
      expect(await start(token, "n2")).toMatchObject({ status: 404, value: { code: "not_found" } });
      const nodes = await product.api.get<{ data: { name: string }[] }>("GET /v1/nodes", { token });
      expect(nodes.data.map(({ name }) => name)).toEqual(["n1"]);
      const { token: chat = "" } = await make({ scope: { chatId: newId("chat") } });
      expect((await product.api.api("GET /v1/nodes", { token: chat })).status).toBe(403);
      expect((await start(chat, "n1")).status).toBe(404);
      expect(await product.api.get("GET /v1/processes", { token: chat })).toEqual({
        ...{ data: [], nextCursor: null },
      });
    });

    it("that is revoked lets nobody in any more, and what streams or waits with it ends", async () => {
      const { id, token = "" } = await make();
      const run = await product.api.start({ node: "n1", command: "sleep 60" });
      const stream = new Reader(await product.api.fetch("GET /v1/events", { token }));
      expect(await stream.next()).toMatchObject({ event: "begin" });
      const waiting = product.api.api(`GET /v1/processes/${run.id}`, { token, query: { waitMs: 60_000 } });
      await revoke(id);
      expect(await me(token)).toMatchObject({ status: 401, value: { code: "unauthorized" } });
      expect(await waiting).toMatchObject({ status: 401, value: { code: "unauthorized" } });
      await stream.rest();
      await product.api.stop(run.id);
    });
  });
};
