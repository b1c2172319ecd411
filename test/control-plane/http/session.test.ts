import { describe, expect, it } from "vitest";
import type { PrincipalView, SignInLinkView } from "#shared/api/session.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import { prune } from "../../../control-plane/scheduler/sweep.ts";
import { createApp } from "../../../control-plane/app.ts";
import { Browser } from "../../support/browser.ts";
import { authorized, token, useService } from "./service.ts";
import { Reader } from "./stream-reader.ts";

const origin = "http://127.0.0.1";
const { service, node, started } = useService({ publicUrl: origin });

const browser = (): Browser => new Browser((path, init) => service.app.request(path, init), origin);
const at = (publicUrl: string) => {
  const app = createApp({ ...service.needs, config: { ...service.needs.config, publicUrl } });
  return new Browser((path, init) => app.request(path, init), publicUrl);
};
const link = async (headers?: Record<string, string>) => {
  const answer = await service.post("/v1/session-codes", undefined, headers);
  expect(answer.status).toBe(201);
  return answer.body as SignInLinkView;
};
const made = async (body: object = {}) => {
  const answer = await service.post("/v1/tokens", { name: "person", role: "viewer", ...body });
  return answer.body as { id: string; token: string };
};
const signedIn = async (by: object = { token }): Promise<Browser> => {
  const page = browser();
  expect(await page.status("POST /v1/session", { body: by })).toBe(201);
  return page;
};
const rowOf = async (page: Browser) =>
  service.needs.store.consoleSessions.withHash(await sha256Hex(page.cookie.split("=")[1] ?? ""));
const me = async (page: Browser): Promise<PrincipalView> =>
  (await (await page.fetch("GET /v1/me")).json()) as PrincipalView;

describe("signing in", () => {
  it("by a link happens once, as the token that made the link", async () => {
    const { id, token: own } = await made({ scope: { selector: "env=ci" } });
    const { code, url } = await link({ authorization: `Bearer ${own}` });
    expect(url).toBe(`${origin}/#code=${code}`);
    const page = await signedIn({ code });
    expect(await me(page)).toMatchObject({
      ...{ tokenId: id, name: "person", role: "viewer", scope: { selector: "env=ci" }, expiresAt: null },
      session: { expiresAt: expect.stringMatching(/Z$/) as string, idleMs: 3_600_000 },
    });
    const again = await browser().fetch("POST /v1/session", { body: { code } });
    expect(again.status).toBe(401);
    expect(await again.text()).toContain("drover login --link");
    expect((await service.get("/v1/me")).body).toMatchObject({ session: null });
  });

  it("by a link is good for 10 minutes, and only while the token is", async () => {
    const late = await link();
    service.rig.clock.aheadMs += 600_000;
    expect(await browser().status("POST /v1/session", { body: { code: late.code } })).toBe(401);
    const { id, token: own } = await made();
    const { code } = await link({ authorization: `Bearer ${own}` });
    await service.send("DELETE", `/v1/tokens/${id}`);
    expect(await browser().status("POST /v1/session", { body: { code } })).toBe(401);
  });

  it("by a token answers a cookie that no script reads and no other site sends; only its digest is kept", async () => {
    const page = await signedIn();
    expect(page.setCookie).toMatch(
      /^drover-session=drvs_[\w-]{43}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const row = await rowOf(page);
    expect(row).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    expect(JSON.stringify(row)).not.toContain(page.cookie.split("=")[1]);
    expect(JSON.stringify(service.rig.lines)).not.toMatch(/drv[sc]_[\w-]{43}/);
  });

  it("takes https beyond loopback, where the cookie is Secure and this host's own", async () => {
    const page = at("https://drover.test");
    expect(await page.status("POST /v1/session", { body: { token } })).toBe(201);
    expect(page.setCookie).toMatch(/^__Host-drover-session=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    expect(await page.status("GET /v1/me")).toBe(200);
    const plain = await at("http://drover.test").fetch("POST /v1/session", { body: { token } });
    expect(plain.status).toBe(422);
    expect(await plain.json()).toMatchObject({
      code: "not_supported",
      detail: expect.stringContaining("DROVER_PUBLIC_URL") as string,
    });
  });

  it("is refused to a page of another origin, which would sign somebody in as somebody else", async () => {
    const headers = { origin: "https://evil.example" };
    expect(await browser().status("POST /v1/session", { body: { token }, headers })).toBe(403);
    expect(await browser().status("POST /v1/session", { body: { token }, headers: { origin: "null" } })).toBe(
      403,
    );
  });

  it.each([
    [{}, "code"],
    [{ code: "a", token: "b" }, "code"],
    [{ code: "" }, "code"],
    [{ token: 1 }, "token"],
    [{ token: "x", password: "x" }, "password"],
  ])("with %j says what would be right", async (body, path) => {
    const answer = await browser().fetch("POST /v1/session", { body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      issues: expect.arrayContaining([expect.objectContaining({ path })]),
    });
  });

  it("makes no links for others: a session that was stolen for a moment is no way in for ever", async () => {
    expect(await (await signedIn()).status("POST /v1/session-codes")).toBe(403);
  });
});

describe("a session", () => {
  it("is over after a time without a request, which one within the time puts off", async () => {
    const page = await signedIn();
    for (let hours = 0; hours < 2; hours += 0.75) {
      service.rig.clock.aheadMs += 0.75 * 3_600_000;
      expect(await page.status("GET /v1/me")).toBe(200);
    }
    service.rig.clock.aheadMs += 3_600_000;
    const over = await page.fetch("GET /v1/me");
    expect(over.status).toBe(401);
    expect(await over.text()).toContain("sign in again");
    expect(await rowOf(page)).toBeDefined();
    await prune(service.needs);
    expect(await rowOf(page)).toBeUndefined();
  });

  it("is over after a day, however much it was used", async () => {
    const page = await signedIn();
    for (let hours = 0; hours < 23.5; hours += 0.5) {
      service.rig.clock.aheadMs += 1_800_000;
      expect(await page.status("GET /v1/me")).toBe(200);
    }
    service.rig.clock.aheadMs += 1_800_000;
    expect(await page.status("GET /v1/me")).toBe(401);
  });

  it("ends with its token, and so do its streams", async () => {
    const { id, token: own } = await made();
    const page = await signedIn({ token: own });
    const stream = new Reader(await page.fetch("GET /v1/events"));
    expect(await stream.next()).toMatchObject({ event: "begin" });
    await service.send("DELETE", `/v1/tokens/${id}`);
    expect(await stream.next()).toBeUndefined();
    expect(await page.status("GET /v1/me")).toBe(401);
  });

  it("that is signed out is gone with its cookie, its streams and its waits, and no other is", async () => {
    const id = await started();
    const [page, other] = [await signedIn(), await signedIn()];
    const cookie = page.cookie;
    const follow = async (who: Browser) => new Reader(await who.fetch(`GET /v1/processes/${id}/events`));
    const [stream, otherStream] = [await follow(page), await follow(other)];
    for (const each of [stream, otherStream]) expect(await each.next()).toMatchObject({ event: "start" });
    const waiting = page.fetch(`GET /v1/processes/${id}?waitMs=60000`);
    expect(await page.status("DELETE /v1/session")).toBe(204);
    expect(page.cookie).toBe("");
    expect(await stream.next()).toBeUndefined();
    expect((await waiting).status).toBe(401);
    expect(await page.status("GET /v1/me", { headers: { cookie } })).toBe(401);
    node.played.write(id, "on");
    expect(await otherStream.next()).toMatchObject({ event: "output", data: { text: "on" } });
    await otherStream.leave();
    expect((await service.send("DELETE", "/v1/session")).body).toMatchObject({
      code: "not_found",
      detail: expect.stringContaining("no session") as string,
    });
  });

  it("that nobody uses is over for its stream, too", async () => {
    const page = await signedIn();
    const stream = new Reader(await page.fetch("GET /v1/events"));
    expect(await stream.next()).toMatchObject({ event: "begin" });
    service.rig.clock.aheadMs += 3_600_000;
    // What happens in the fleet meanwhile may come first; then the stream ends.
    await stream.rest();
  });

  it("has the Idempotency-Keys of its token", async () => {
    const headers = { "idempotency-key": "from the console" };
    const body = { node: node.id, command: "x" };
    const page = await signedIn();
    const first = (await (await page.fetch("POST /v1/processes", { body, headers })).json()) as {
      id: string;
    };
    expect((await service.post("/v1/processes", body, headers)).body["id"]).toBe(first.id);
  });
});

describe("a cookie", () => {
  const elsewhere = ["https://evil.example", "http://localhost:5999", "http://127.0.0.1:5999", "null"];

  it.each(elsewhere)("counts for nothing that a page of %s sends", async (from) => {
    const page = await signedIn();
    const headers = { origin: from };
    const start = { body: { node: node.id, command: "x" }, headers };
    expect(await page.status("POST /v1/processes", start)).toBe(403);
    expect(await page.status("DELETE /v1/session", { headers })).toBe(403);
    expect(await page.status("GET /v1/events", { headers })).toBe(403);
    const upgrade = { upgrade: "websocket", connection: "Upgrade", ...headers };
    expect(await page.status("GET /v1/events", { headers: upgrade })).toBe(403);
    const listed = await service.get(`/v1/processes?node=${node.id}`);
    expect(listed.body).toMatchObject({ data: [] });
  });

  it("counts in a change only where the browser says whose page it is", async () => {
    const page = await signedIn();
    const bare = (headers: Record<string, string>) =>
      service.app.request("/v1/session", { method: "DELETE", headers: { cookie: page.cookie, ...headers } });
    const refused = await bare({});
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: "forbidden",
      detail: expect.stringMatching(/http:\/\/127\.0\.0\.1 .*Bearer/) as string,
    });
    expect((await bare({ "sec-fetch-site": "same-site" })).status).toBe(403);
    expect((await bare({ "sec-fetch-site": "same-origin" })).status).toBe(204);
  });

  it("goes behind a token, whose requests come from anywhere", async () => {
    const page = await signedIn();
    const { id, token: own } = await made();
    const headers = { origin: "https://evil.example", authorization: `Bearer ${own}` };
    const both = await page.fetch("GET /v1/me", { headers });
    expect(await both.json()).toMatchObject({ tokenId: id, session: null });
    const bad = { ...headers, authorization: "Bearer drvt_other" };
    expect(await page.status("GET /v1/me", { headers: bad })).toBe(401);
    // What a proxy before the console asked for is no token.
    expect(await page.status("GET /v1/me", { headers: { authorization: "Basic eDp5" } })).toBe(200);
    expect(
      (await service.post("/v1/join-tokens", {}, { ...authorized, origin: "https://evil.example" })).status,
    ).toBe(201);
  });
});
