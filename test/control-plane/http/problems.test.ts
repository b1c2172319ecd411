import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { maxBodyBytes } from "#shared/api/common.ts";
import { DroverError } from "#shared/errors.ts";
import { problemDocument } from "../../support/problem.ts";
import { openService, token, type Service } from "./service.ts";

describe("a failure of the API", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  const problem = (status: number, code: string) => ({ status, body: problemDocument(status, code) });

  it("is a problem document with the request's id, which the header repeats", async () => {
    const answer = await service.get("/v1/nodes/nobody");
    expect(answer).toMatchObject(problem(404, "not_found"));
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("x-request-id")).toBe(answer.body["requestId"]);
  });

  it.each([
    ["no token", {}],
    ["another token", { authorization: "Bearer not-the-token" }],
    ["another scheme", { authorization: `Basic ${token}` }],
    ["an empty token", { authorization: "Bearer " }],
  ])("is 401 for %s, also on routes that do not exist, and names the scheme", async (_title, headers) => {
    for (const path of ["/v1/me", "/v1/nodes", "/v1/nothing"]) {
      const answer = await service.app.request(path, { headers });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("is told before anything of the body is read", async () => {
    const answer = await service.app.request("/v1/processes", {
      method: "POST",
      body: "{",
      headers: { "content-type": "text/plain" },
    });
    expect(answer.status).toBe(401);
  });

  it("is no crash of ours when the client leaves in the middle of its body", async () => {
    const error = vi.spyOn(service.needs.log, "error");
    for (const length of [undefined, "100"]) {
      const body = new ReadableStream({ pull: (stream) => stream.error(new Error("aborted")) });
      const answer = await service.app.request("/v1/processes", {
        method: "POST",
        body,
        duplex: "half",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          ...(length === undefined ? {} : { "content-length": length }),
        },
      } as RequestInit);
      expect(answer.status).toBe(400);
    }
    expect(error).not.toHaveBeenCalled();
    error.mockRestore();
  });

  it("is 404 for what is not built", async () => {
    for (const path of [
      "/v1/chats",
      "/v1/tasks",
      "/nothing",
      "/v1/processes/proc_01h0000000000000000000000x/nothing",
    ])
      expect(await service.get(path)).toMatchObject(problem(404, "not_found"));
  });

  it("is 405 with Allow for another method on a path that exists", async () => {
    const answer = await service.send("PUT", "/v1/processes");
    expect(answer).toMatchObject(problem(405, "method_not_allowed"));
    expect(answer.headers.get("allow")).toBe("POST, GET, HEAD");
    expect((await service.get("/v1/processes/cancel")).headers.get("allow")).toBe("POST");
    expect(await service.send("OPTIONS", "/v1/me")).toMatchObject({ status: 405 });
  });

  it("is 413 for a body that is too large, with or without a declared length, before its type is looked at", async () => {
    const body = "x".repeat(maxBodyBytes + 1);
    const declared = await service.fetch("/v1/processes", {
      method: "POST",
      body,
      headers: { "content-length": String(body.length) },
    });
    expect(declared.status).toBe(413);
    const pieces = new Blob([body]).stream();
    const chunked = await service.fetch("/v1/processes", {
      method: "POST",
      body: pieces,
      duplex: "half",
    } as RequestInit);
    expect(chunked.status).toBe(413);
  });

  it("is 415 for a body that is not JSON by its type, and 400 for one that is not JSON or not UTF-8", async () => {
    const post = (body: BodyInit, type?: string) =>
      service.fetch("/v1/processes", {
        method: "POST",
        body,
        headers: type === undefined ? {} : { "content-type": type },
      });
    expect((await post("{}", "text/plain")).status).toBe(415);
    expect((await post("{}", "application/x-www-form-urlencoded")).status).toBe(415);
    expect((await post("{}", "application/json; charset=latin1")).status).toBe(415);
    expect((await post("{ secret", "application/json")).status).toBe(400);
    expect(await (await post("{ secret", "application/json")).text()).not.toContain("secret");
    expect((await post(new Uint8Array([0x7b, 0xff]), "application/json; charset=utf-8")).status).toBe(400);
    expect((await post("", "application/json")).status).toBe(400);
  });

  it("tells nothing of the inside: a bug is `internal`, and the log has it under the request's id", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = {
      ...service.needs.log,
      error: (event: string, fields?: Record<string, unknown>) => void lines.push({ event, ...fields }),
    };
    const nodes = {
      ...service.needs.store.nodes,
      find: () => Promise.reject(new Error("select secret from /var/lib")),
    };
    const broken = await openService({ log, store: { ...service.needs.store, nodes } });
    const answer = await broken.get("/v1/nodes/x");
    expect(answer).toMatchObject(problem(500, "internal"));
    expect(JSON.stringify(answer.body)).not.toMatch(/select|var/);
    expect(lines).toMatchObject([{ event: "request.crashed", requestId: answer.body["requestId"] }]);
    await broken.close();
  });

  it("is 503 `unavailable` while the database is away, without saying why", async () => {
    const gone = () =>
      Promise.reject(new DroverError("unavailable", "The database does not answer.", { cause: "57P01" }));
    const nodes = { ...service.needs.store.nodes, find: gone };
    const store = {
      ...service.needs.store,
      nodes,
      ready: () => Promise.resolve({ ready: false as const, reason: "the database can not be reached" }),
    };
    const broken = await openService({ store });
    const answer = await broken.get("/v1/nodes/x");
    expect(answer).toMatchObject(problem(503, "unavailable"));
    expect(answer.body).not.toHaveProperty("cause");
    expect(await broken.get("/readyz")).toMatchObject(problem(503, "unavailable"));
    expect(await broken.get("/healthz")).toMatchObject({ status: 200, body: { status: "ok" } });
    await broken.close();
  });

  it("every answer carries the headers that keep browsers from guessing and caching", async () => {
    for (const path of ["/healthz", "/v1/me", "/v1/nothing"]) {
      const { headers } = await service.get(path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });
});
