import { describe, expect, it } from "vitest";
import type { PrincipalView, SignInLinkView } from "#shared/api/session.ts";
import type { MadeTokenView } from "#shared/api/token.ts";
import { Reader } from "../../control-plane/http/stream-reader.ts";
import { Browser } from "../../support/browser.ts";
import type { OidcProvider } from "../../support/oidc-provider.ts";
import type { Product } from "../../support/product.ts";
import { upgrade } from "../wire.ts";

/** Who gets in by a browser: signing in and out, and what a page of another origin can not do with the cookie. */
export const sessions = (product: Product, provider: OidcProvider): void => {
  const browser = (): Browser => {
    const { api } = product;
    const send = (path: string, { method = "GET", headers, body }: RequestInit) =>
      api.fetch(`${method} ${path}`, {
        token: null,
        headers: headers as Record<string, string>,
        redirect: "manual",
        ...(typeof body === "string" ? { text: body } : {}),
      });
    return new Browser(send, api.url);
  };
  const signedIn = async (body: object = { token: product.token }): Promise<Browser> => {
    const page = browser();
    expect(await page.status("POST /v1/session", { body })).toBe(201);
    return page;
  };
  const me = async (page: Browser): Promise<PrincipalView> =>
    (await (await page.fetch("GET /v1/me")).json()) as PrincipalView;

  describe("signing in", () => {
    it("by a link happens once, as the token that made it, and by a token as that token", async () => {
      const made = await product.api.get<MadeTokenView>("POST /v1/tokens", {
        body: { name: "person", role: "viewer" },
      });
      const { code, url } = await product.api.get<SignInLinkView>("POST /v1/session-codes", {
        token: made.token ?? "",
      });
      expect(url).toBe(`${product.api.url}/#code=${code}`);
      const page = await signedIn({ code });
      expect(page.setCookie).toMatch(/; HttpOnly; SameSite=Strict$/);
      expect(await me(page)).toMatchObject({ tokenId: made.id, name: "person", role: "viewer" });
      expect(await browser().status("POST /v1/session", { body: { code } })).toBe(401);
      expect(await me(await signedIn())).toMatchObject({ tokenId: null, session: { idleMs: 43_200_000 } });
      await product.api.get(`DELETE /v1/tokens/${made.id}`);
      expect(await page.status("GET /v1/me")).toBe(401);
    });

    it("ends by signing out, and what streams or waits with it ends, too", async () => {
      const run = await product.api.start({ node: "n1", command: "sleep 60" });
      const page = await signedIn();
      const { cookie } = page;
      const stream = new Reader(await page.fetch("GET /v1/events"));
      expect(await stream.next()).toMatchObject({ event: "begin" });
      const waiting = page.status(`GET /v1/processes/${run.id}?waitMs=60000`);
      expect(await page.status("DELETE /v1/session")).toBe(204);
      expect(page.cookie).toBe("");
      expect(await waiting).toBe(401);
      await stream.rest();
      expect(await page.status("GET /v1/me", { headers: { cookie } })).toBe(401);
      await product.api.stop(run.id);
    });
  });

  describe("signing in by an identity provider", () => {
    const elsewhere = { headers: { "sec-fetch-site": "cross-site" } };
    const comeBack = async (page: Browser): Promise<Response> => {
      const sent = await page.fetch("GET /v1/session/oidc", elsewhere);
      const agreed = await fetch(sent.headers.get("location") ?? "", { redirect: "manual" });
      const back = new URL(agreed.headers.get("location") ?? "");
      expect(back.origin).toBe(product.api.url);
      return page.fetch(`GET ${back.pathname}${back.search}`, elsewhere);
    };

    it("lets a person in with the role of their groups", async () => {
      const page = browser();
      const back = await comeBack(page);
      expect({ status: back.status, to: back.headers.get("location") }).toEqual({
        status: 302,
        to: `${product.api.url}/`,
      });
      expect(await me(page)).toMatchObject({ tokenId: null, name: "ada", role: "operator", scope: {} });
    });

    it("lets nobody in for whom it does not vouch", async () => {
      provider.behaves = { signsWithAnotherKey: true };
      const page = browser();
      expect((await comeBack(page)).status).toBe(401);
      provider.behaves = {};
      expect(await page.status("GET /v1/me")).toBe(401);
    });
  });

  describe("the cookie of a session", () => {
    it("counts for pages of this origin only, in changes, in streams and in upgrades", async () => {
      const page = await signedIn();
      const own = new URL(product.api.url);
      for (const origin of ["https://evil.example", `http://localhost:${Number(own.port) + 1}`, "null"]) {
        const headers = { origin };
        const start = { body: { node: "n1", command: "true" }, headers };
        expect(await page.status("POST /v1/processes", start)).toBe(403);
        expect(await page.status("DELETE /v1/session", { headers })).toBe(403);
        expect(await page.status("GET /v1/events", { headers })).toBe(403);
        expect(await browser().status("POST /v1/session", { body: { token: product.token }, headers })).toBe(
          403,
        );
      }
      const started = await page.fetch("POST /v1/processes", { body: { node: "n1", command: "true" } });
      expect(started.status).toBe(201);
    });

    it("does not count in a change whose origin the browser does not say", async () => {
      const { cookie } = await signedIn();
      const bare = (headers: object = {}) =>
        product.api.api("POST /v1/join-tokens", { token: null, body: {}, headers: { cookie, ...headers } });
      expect((await bare()).status).toBe(403);
      expect((await bare({ "sec-fetch-site": "same-site" })).status).toBe(403);
      expect((await bare({ "sec-fetch-site": "same-origin" })).status).toBe(201);
    });

    it("goes behind a token, whose requests come from anywhere, and opens no socket of an agent", async () => {
      const page = await signedIn();
      const headers = { authorization: `Bearer ${product.token}`, origin: "https://evil.example" };
      expect(await page.status("POST /v1/join-tokens", { body: {}, headers })).toBe(201);
      const bad = { authorization: "Bearer drvt_other" };
      expect(await page.status("GET /v1/me", { headers: bad })).toBe(401);
      expect(
        await upgrade(product, "/v1/agent", undefined, { cookie: page.cookie, origin: product.api.url }),
      ).toBe(401);
    });
  });
};
