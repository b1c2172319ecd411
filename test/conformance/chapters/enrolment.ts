import { describe, expect, it } from "vitest";
import type { ApiOptions } from "../../support/api.ts";
import type { Product } from "../../support/product.ts";
import { hashOf } from "../wire.ts";

type Token = { token?: string; secretShown?: boolean; command: string; expiresAt: string };

/** How a machine becomes a node. */
export const enrolment = (product: Product): void => {
  const joinToken = (body: object = {}, headers: Record<string, string> = {}) =>
    product.api.api<Token>("POST /v1/join-tokens", { body, headers });
  const enroll = (body: object) =>
    product.api.api<{ nodeId: string; name: string; code: string }>("POST /v1/enroll", { body, token: null });
  const tokenFor = async (body: object = {}) => (await joinToken(body)).value.token ?? "";

  describe("enrolment", () => {
    it("begins with a token that is shown once, in the one line that starts an agent", async () => {
      const key = { "idempotency-key": "join" };
      const first = await joinToken({ nodeName: "shown" }, key);
      expect(first).toMatchObject({ status: 201, value: { token: expect.stringMatching(/^\S{20,}$/) } });
      const { token = "", command } = first.value;
      for (const part of [product.api.url, token, "shown"]) expect(command).toContain(part);
      const again = await joinToken({ nodeName: "shown" }, key);
      expect(again).toMatchObject({ status: 201, value: { secretShown: false } });
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(JSON.stringify(again.value)).not.toContain(token);
      // The body may be left out.
      expect((await product.api.api("POST /v1/join-tokens")).status).toBe(201);
    });

    it("makes a node of a token and the digest of a key, the same one for the same again", async () => {
      const body = {
        joinToken: await tokenFor({ labels: { zone: "a" } }),
        name: "fresh",
        keyHash: hashOf("fresh"),
        labels: { disk: "big" },
        facts: { os: "linux", cpus: 2 },
      };
      const made = await enroll(body);
      expect(made).toMatchObject({
        status: 201,
        value: { nodeId: expect.stringMatching(/^node_/), name: "fresh" },
      });
      expect(await enroll(body)).toMatchObject({ status: 200, value: made.value });
      expect(await product.node("fresh")).toMatchObject({
        ...{ id: made.value.nodeId, status: "offline", os: "linux", cpus: 2 },
        labels: { zone: "a", disk: "big" },
      });
    });

    it("refuses tokens that are wrong, used up, too late or for another node, and names that are taken", async () => {
      const keyHash = hashOf("refused");
      const refused = async (joinToken: string, name: string) => {
        const { status, value } = await enroll({ joinToken, name, keyHash });
        return [status, value.code];
      };
      expect(await refused("drvj_wrong", "refused")).toEqual([401, "unauthorized"]);
      const used = await tokenFor();
      expect((await enroll({ joinToken: used, name: "user", keyHash: hashOf("user") })).status).toBe(201);
      expect(await refused(used, "refused")).toEqual([401, "unauthorized"]);
      expect(await refused(await tokenFor({ nodeName: "other" }), "refused")).toEqual([403, "forbidden"]);
      expect(await refused(await tokenFor(), "n1")).toEqual([409, "conflict"]);
      expect(await refused(await tokenFor({ replace: true }), "n1")).toEqual([409, "conflict"]);
      const wrong: ApiOptions = { token: null, body: { joinToken: used, name: "a b", keyHash: "x" } };
      expect(await product.api.api("POST /v1/enroll", wrong)).toMatchObject({
        status: 400,
        value: { code: "invalid_request" },
      });
    });

    it("puts a new agent in the place of one that is gone, where the token says so", async () => {
      const name = "replaced";
      const first = await enroll({ joinToken: await tokenFor(), name, keyHash: hashOf("one") });
      const joinToken = await tokenFor({ replace: true });
      const second = await enroll({ joinToken, name, keyHash: hashOf("two") });
      expect([first.status, second.status]).toEqual([201, 201]);
      expect((await product.node(name)).id).toBe(second.value.nodeId);
    });

    it("by a real agent tells of its machine", async () => {
      expect(await product.node("n1")).toMatchObject({
        ...{ name: "n1", status: "online", os: "linux", arch: process.arch, running: 0, queued: 0 },
        ...{ version: expect.any(String), hostname: expect.any(String), connectedAt: expect.any(String) },
        cpus: expect.any(Number),
      });
    });
  });
};
