import { describe, expect, it } from "vitest";
import { maxBodyBytes } from "#shared/api/common.ts";
import type { ApiOptions } from "../../support/api.ts";
import { problemDocument } from "../../support/problem.ts";
import type { Product } from "../../support/product.ts";
import type { Runtime } from "../runtimes/runtime.ts";

/** What holds for every request, whatever it is about. */
export const service = (product: Product, runtime: Runtime): void => {
  const problem = (status: number, code: string) => ({ status, value: problemDocument(status, code) });
  const call = (request: string, options?: ApiOptions) => product.api.api(request, options);
  /** A body as it is, without what the client makes of one. */
  const send = async (body: BodyInit, headers: Record<string, string> = {}) => {
    const init: RequestInit & { duplex: "half" } = {
      ...{ method: "POST", body, duplex: "half" },
      headers: { authorization: `Bearer ${product.token}`, ...headers },
    };
    const response = await fetch(`${product.api.url}/v1/join-tokens`, init);
    return { status: response.status, value: await response.json() };
  };

  describe("the service", () => {
    it("says without a token that it lives, is ready, and what it can do", async () => {
      const open = { token: null };
      expect(await call("GET /healthz", open)).toMatchObject({ status: 200, value: { status: "ok" } });
      expect(await call("GET /readyz", open)).toMatchObject({ status: 200, value: { status: "ready" } });
      const docs = await product.api.fetch("GET /docs", open);
      expect(docs.headers.get("content-type")).toMatch(/^text\/html/);
      expect(docs.headers.get("content-security-policy")).toMatch(/default-src 'none'; script-src 'sha256-/);
      expect(await docs.text()).toContain("/openapi.json");
      expect(await call("GET /openapi.json", open)).toMatchObject({
        status: 200,
        value: { openapi: expect.stringMatching(/^3\.1\./), servers: [{ url: product.api.url }] },
      });
    });

    it("says whose a token is", async () => {
      expect(await product.api.get("GET /v1/me")).toMatchObject({
        ...{ tokenId: null, name: "admin", role: "admin", scope: {}, expiresAt: null },
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      });
    });

    it("answers a failure as a problem with the id of its request, and lets no answer be kept, framed or guessed", async () => {
      const failed = await call("GET /v1/nodes/nobody");
      expect(failed).toMatchObject(problem(404, "not_found"));
      expect(failed.headers.get("content-type")).toBe("application/problem+json");
      expect(failed.headers.get("x-request-id")).toBe(failed.value.requestId);
      for (const { headers } of [failed, await call("GET /v1/me"), await call("GET /healthz")]) {
        expect(headers.get("x-request-id")).toMatch(/^req_/);
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("x-content-type-options")).toBe("nosniff");
        expect(headers.get("x-frame-options")).toBe("DENY");
        expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
        expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
        expect(headers.get("referrer-policy")).toBe("no-referrer");
      }
    });

    it.each<[string, ApiOptions]>([
      ["no token", { token: null }],
      ["another token", { token: "drva_other" }],
      ["another scheme", { token: null, headers: { authorization: "Basic eDp5" } }],
      ["the agents' kind of token", { token: "node_01h0000000000000000000000x.key" }],
    ])("refuses %s before it looks at anything else", async (_title, options) => {
      for (const request of ["GET /v1/me", "GET /v1/nothing", "GET /v1/agent", "PUT /v1/processes"]) {
        const answer = await call(request, options);
        expect(answer).toMatchObject(problem(401, "unauthorized"));
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
      const body = { text: "{", headers: { "content-type": "text/plain" } };
      const late = { ...options, ...body, headers: { ...body.headers, ...options.headers } };
      expect((await call("POST /v1/processes", late)).status).toBe(401);
    });

    it("knows no other routes, and finds the ones there are by their decoded path", async () => {
      const outside = runtime.showsPage ? [] : ["/", "/V1/me"];
      for (const path of [...outside, "/v1", "/v1/chats", "/v1/nodes/", "/v1//nodes", "/v1/agent"])
        expect({ path, ...(await call(`GET ${path}`)) }).toMatchObject({
          path,
          ...problem(404, "not_found"),
        });
      expect(await product.api.get("GET /v1/nodes/n%31")).toMatchObject({ name: "n1" });
      for (const name of ["n1%2F", "%C3%A9", "%F0%9F%98%80", "a%20b", "%00", "%zz", "%ff"])
        expect({ name, ...(await call(`GET /v1/nodes/${name}`)) }).toMatchObject({
          name,
          ...problem(404, "not_found"),
        });
    });

    it("names the methods that a path has, of which none is OPTIONS: nothing is shared with other origins", async () => {
      const wrong = await call("PUT /v1/processes");
      expect(wrong).toMatchObject(problem(405, "method_not_allowed"));
      expect(wrong.headers.get("allow")).toBe("POST, GET, HEAD");
      const headers = { origin: "https://elsewhere.test", "access-control-request-method": "POST" };
      for (const request of ["OPTIONS /v1/processes", "GET /v1/me", "GET /healthz"]) {
        const answer = await call(request, { headers });
        expect(answer.status).toBe(request.startsWith("OPTIONS") ? 405 : 200);
        expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
    });

    it("answers HEAD like GET without the body", async () => {
      for (const path of ["/healthz", "/v1/me", "/v1/nodes/n1", "/v1/nodes/nobody", "/openapi.json"]) {
        const head = await product.api.fetch(`HEAD ${path}`);
        const get = await product.api.fetch(`GET ${path}`);
        await get.body?.cancel();
        expect(await head.text()).toBe("");
        expect(head.status).toBe(get.status);
        expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
      }
      expect((await product.api.fetch("HEAD /v1/me", { token: null })).status).toBe(401);
    });

    it("takes a body of 8 MiB and not a byte more, whether its length is known or not", async () => {
      const json = { "content-type": "application/json" };
      const whole = `${" ".repeat(maxBodyBytes - 2)}{}`;
      const pieces = (text: string) => new Blob([text]).stream();
      for (const body of [whole, pieces(whole)]) expect((await send(body, json)).status).toBe(201);
      for (const body of [`${whole} `, pieces(`${whole} `)])
        expect(await send(body, json)).toMatchObject(problem(413, "payload_too_large"));
    });

    it("takes JSON in UTF-8 and nothing else", async () => {
      const json = { "content-type": "application/json" };
      const utf8 = { "content-type": "application/json; charset=utf-8" };
      expect((await send("{}", utf8)).status).toBe(201);
      const unsupported = problem(415, "unsupported_media_type");
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
      ])
        expect(await send("{}", { "content-type": type })).toMatchObject(unsupported);
      expect(await send("{}", { ...json, "content-encoding": "gzip" })).toMatchObject(unsupported);
      const bad = problem(400, "invalid_request");
      for (const body of ["{ secret", "[]", "null", Buffer.of(0x22, 0xff, 0x22)]) {
        const answer = await send(body, json);
        expect(answer).toMatchObject(bad);
        expect(JSON.stringify(answer.value)).not.toContain("secret");
      }
    });

    it("names each field that is wrong, in bodies and queries, unknown ones too", async () => {
      const body = { node: "n1", command: " ", graceMs: -1, limits: { logBytes: 1 }, colour: "red" };
      const answer = await call("POST /v1/processes", { body });
      expect(answer).toMatchObject(problem(400, "invalid_request"));
      const paths = answer.value.issues?.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(["command", "graceMs", "limits.logBytes"]));
      expect(JSON.stringify(answer.value.issues)).toContain("colour");
      for (const query of ["limit=0", "limit=201", "colour=red", "status=done", "cursor=x"])
        expect({ query, ...(await call(`GET /v1/nodes?${query}`)) }).toMatchObject({
          query,
          ...problem(400, "invalid_request"),
        });
    });
  });
};
