// What somebody tries who has heard something that was said, or guesses. Elsewhere: a key that was stolen and is rotated away
// (test/conformance/chapters/nodes.ts, test/e2e/maintenance.test.ts), two agents with one identity (test/faults/second-agent.test.ts,
// test/faults/identity.test.ts, test/conformance/chapters/link.ts), places of a join token taken by many at once
// (test/contract/store-nodes.ts), how long a comparison takes (test/shared/secret-text.test.ts), what a role or a scope lets
// nobody do (authorization.test.ts).
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useService } from "./service.ts";

const { service, node } = useService();
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const newKey = (): string => randomBytes(32).toString("base64url");

describe("a join token that was overheard", () => {
  const enroll = (joinToken: string, name: string, key: string) =>
    service.post("/v1/enroll", { joinToken, name, keyHash: sha256(key) }, { authorization: "" });
  const letsIn = (nodeId: unknown, key: string) =>
    service.rig.link.authorize(`Bearer ${String(nodeId)}.${key}`);

  it("gives whoever sends the same again no key, and no node to whoever sends a key of his own", async () => {
    const joinToken = String((await service.post("/v1/join-tokens", {})).body["token"]);
    const [key, own] = [newKey(), newKey()];
    const { body } = await enroll(joinToken, "overheard", key);
    const { nodeId } = body;
    expect(await enroll(joinToken, "overheard", key)).toMatchObject({ status: 200, body: { nodeId } });
    expect(await enroll(joinToken, "overheard", own)).toMatchObject({ status: 401 });
    expect(await enroll(joinToken, "another", own)).toMatchObject({ status: 401 });
    expect(await letsIn(nodeId, key)).toBe(nodeId);
    // What went over the wire was the digest, which opens nothing.
    for (const wrong of [own, sha256(key), joinToken, `${key}x`])
      expect(await letsIn(nodeId, wrong)).toBeUndefined();
  });

  it("does not open the API, nor does the key of a node", async () => {
    const joinToken = String((await service.post("/v1/join-tokens", {})).body["token"]);
    const key = newKey();
    const { nodeId } = (await enroll(joinToken, "no-user", key)).body;
    for (const wrong of [joinToken, key, `${String(nodeId)}.${key}`])
      expect((await service.get("/v1/me", { authorization: `Bearer ${wrong}` })).status).toBe(401);
  });
});

describe("a token that is guessed", () => {
  it("is refused however near it is, and so are the digest that is stored and other places to say it", async () => {
    const { body } = await service.post("/v1/tokens", { name: "x", role: "viewer" });
    const [id, token] = [String(body["id"]), String(body["token"])];
    const digest = (await service.needs.store.tokens.find(id))?.hash ?? "";
    const last = token.endsWith("A") ? "B" : "A";
    const near = [
      token.slice(0, -1) + last,
      token.slice(0, -1),
      `${token}A`,
      token.toUpperCase(),
      token.slice(5),
    ];
    for (const wrong of [...near, digest, id, "drvt_", "%", `${token},${token}`])
      expect((await service.get("/v1/me", { authorization: `Bearer ${wrong}` })).status).toBe(401);
    for (const header of [
      token,
      `Basic ${token}`,
      `bearer${token}`,
      `Bearer ${token} ${token}`,
      "Bearer",
      "",
    ])
      expect((await service.get("/v1/me", { authorization: header })).status).toBe(401);
    for (const query of [`token=${token}`, `access_token=${token}`])
      expect((await service.get(`/v1/me?${query}`, { authorization: "" })).status).toBe(401);
    expect((await service.get("/v1/me", { authorization: "", cookie: `token=${token}` })).status).toBe(401);
    expect((await service.get("/v1/me", { authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it("and wrong ones among good ones change nothing: the token that was good last is compared, not trusted", async () => {
    const { body } = await service.post("/v1/tokens", { name: "x", role: "admin" });
    const by = { authorization: `Bearer ${String(body["token"])}` };
    expect((await service.get("/v1/me", by)).status).toBe(200);
    await service.needs.store.tokens.delete(String(body["id"]));
    expect((await service.get("/v1/me", by)).status).toBe(401);
    expect((await service.get(`/v1/nodes/${node.id}`)).status).toBe(200);
  });
});
