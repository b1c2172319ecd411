import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrincipalView } from "#shared/api/session.ts";
import { createApp } from "../../../control-plane/app.ts";
import type { Needs, OidcSettings } from "../../../control-plane/needs.ts";
import { openProvider } from "../../../control-plane/oidc/provider.ts";
import { Browser } from "../../support/browser.ts";
import { OidcProvider } from "../../support/oidc-provider.ts";
import { openService, type Service } from "./service.ts";

const publicUrl = "http://127.0.0.1:4600";

describe("signing in by an identity provider", () => {
  let provider: OidcProvider;
  let service: Service;
  beforeAll(async () => {
    [provider, service] = await Promise.all([OidcProvider.start(), openService({ publicUrl })]);
  });
  beforeEach(() => {
    provider.behaves = {};
    provider.claims = { sub: "42", preferred_username: "ada", groups: ["devs"] };
  });
  afterAll(() => Promise.all([provider.close(), service.close()]));

  const settings = (change: Partial<OidcSettings> = {}): OidcSettings => ({
    ...{ issuer: provider.issuer, clientId: provider.clientId, clientSecret: provider.clientSecret },
    ...{ scope: "openid profile", groupsClaim: "groups", roles: { bosses: "admin", devs: "operator" } },
    ...change,
  });
  const browser = (change?: Partial<OidcSettings>): Browser => {
    const oidc = settings(change);
    const config = { ...service.needs.config, signIn: { ...service.needs.config.signIn, oidc } };
    const needs: Needs = { ...service.needs, config, provider: openProvider(oidc) };
    const app = createApp(needs);
    return new Browser((path, init) => app.request(path, init), publicUrl);
  };
  // The browser is at another site meanwhile: what it asks then is no request of our own page.
  const elsewhere = { headers: { "sec-fetch-site": "cross-site" } };
  const begin = async (page: Browser): Promise<string> => {
    const sent = await page.fetch("GET /v1/session/oidc", elsewhere);
    expect(sent.status).toBe(302);
    return sent.headers.get("location") ?? "";
  };
  const agree = async (at: string): Promise<string> => {
    const back = new URL((await fetch(at, { redirect: "manual" })).headers.get("location") ?? "");
    expect(back.origin).toBe(publicUrl);
    return `GET ${back.pathname}${back.search}`;
  };
  const comeBack = async (page: Browser): Promise<Response> =>
    page.fetch(await agree(await begin(page)), elsewhere);
  const me = async (page: Browser): Promise<PrincipalView> =>
    (await (await page.fetch("GET /v1/me")).json()) as PrincipalView;
  const refusal = async (answer: Response) => ({
    status: answer.status,
    ...((await answer.json()) as object),
  });

  it("lets a person in with the role of their groups, until the session is over, and shows the console", async () => {
    const page = browser();
    const back = await comeBack(page);
    expect(back.status).toBe(302);
    expect(back.headers.get("location")).toBe(`${publicUrl}/`);
    expect(page.setCookie).toMatch(/^drover-session=drvs_.*; HttpOnly; SameSite=Strict$/);
    const who = await me(page);
    expect(who).toMatchObject({ tokenId: null, name: "ada", role: "operator", scope: {} });
    expect(who.expiresAt).toBe(who.session?.expiresAt);
    expect(await page.status("POST /v1/tokens", { body: { name: "x", role: "viewer" } })).toBe(403);
    expect(await page.status("DELETE /v1/session")).toBe(204);
    expect(await page.status("GET /v1/me")).toBe(401);
  });

  it("asks with PKCE, a state and a nonce that are new each time, and keeps them where nobody reads them", async () => {
    const page = browser();
    const [one, other] = [new URL(await begin(page)), new URL(await begin(page))];
    expect(Object.fromEntries(one.searchParams)).toMatchObject({
      ...{ response_type: "code", client_id: "drover", scope: "openid profile" },
      ...{ redirect_uri: `${publicUrl}/v1/session/oidc/callback`, code_challenge_method: "S256" },
    });
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(one.searchParams.get(name)).toMatch(/^[\w-]{43}$/);
      expect(one.searchParams.get(name)).not.toBe(other.searchParams.get(name));
      expect(page.cookie).not.toContain(other.searchParams.get(name));
    }
    expect(page.setCookie).toMatch(/^drover-oidc=.*; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it.each<[unknown, object, string | undefined]>([
    [["devs", "bosses"], {}, "admin"],
    ["devs", {}, "operator"],
    [["guests"], { roles: { devs: "operator", "*": "viewer" } }, "viewer"],
    [["guests"], {}, undefined],
    [undefined, {}, undefined],
    [["devs"], { groupsClaim: "roles" }, undefined],
    [[{ name: "devs" }], {}, undefined],
  ])("gives the groups %j with %j the role %s", async (groups, change, role) => {
    provider.claims = { ...provider.claims, groups };
    const page = browser(change);
    const back = await comeBack(page);
    expect(back.status).toBe(role === undefined ? 403 : 302);
    if (role !== undefined) expect((await me(page)).role).toBe(role);
    else
      expect(await refusal(back)).toMatchObject({
        detail: expect.stringMatching(/^ada .*DROVER_OIDC_ROLES/) as string,
      });
  });

  it("lets nobody in who did not begin in this browser, or came back before", async () => {
    const begun = await agree(await begin(browser()));
    expect(await refusal(await browser().fetch(begun))).toMatchObject({
      ...{ status: 401, detail: expect.stringContaining("did not begin in this browser") as string },
    });
    const [page, other] = [browser(), browser()];
    await begin(other);
    const address = await agree(await begin(page));
    expect((await other.fetch(address)).status).toBe(401);
    expect((await page.fetch(address)).status).toBe(302);
    expect((await page.fetch(address)).status).toBe(401);
    expect((await page.fetch(address, { headers: { cookie: "drover-oidc=AAAA" } })).status).toBe(401);
  });

  it("has to be through within 10 minutes", async () => {
    const page = browser();
    const address = await agree(await begin(page));
    service.rig.clock.aheadMs += 600_000;
    expect((await page.fetch(address)).status).toBe(401);
  });

  it.each<[string, OidcProvider["behaves"], Partial<OidcSettings>, RegExp]>([
    ["says no", { denies: true }, {}, /access_denied/],
    ["signs with a key that it does not show", { signsWithAnotherKey: true }, {}, /signature/],
    ["answers another sign-in", { nonce: "another" }, {}, /nonce/],
    ["answers another client", { audience: "somebody-else" }, {}, /aud/],
    ["does not take our secret", {}, { clientSecret: "wrong" }, /invalid_client/],
  ])("is refused with a reason where the provider %s", async (_title, behaves, change, reason) => {
    provider.behaves = behaves;
    const page = browser(change);
    expect(await refusal(await comeBack(page))).toMatchObject({
      ...{ status: 401, code: "unauthorized", detail: expect.stringMatching(reason) as string },
    });
    expect(page.cookie).toBe("");
  });

  it("says so where the provider cannot be asked, or there is none", async () => {
    const away = await browser({ issuer: "http://127.0.0.1:1" }).fetch("GET /v1/session/oidc");
    expect(await refusal(away)).toMatchObject({ status: 503, code: "unavailable" });
    expect((await service.get("/v1/session/oidc")).body).toMatchObject({
      ...{
        status: 422,
        code: "not_supported",
        detail: expect.stringContaining("DROVER_OIDC_ISSUER") as string,
      },
    });
  });
});
