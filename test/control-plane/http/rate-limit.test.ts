import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { problemDocument } from "../../support/problem.ts";
import { openService, type Service } from "./service.ts";

const limits = { requestsPerToken: 5, requestsPerAddress: 3, failedPerMinute: 6, openPerToken: 2 };

describe("who asks too often", () => {
  let service: Service;
  let nowMs = Date.now();
  // Each test has a service of its own: what was counted stays with it.
  beforeEach(async () => {
    service = await openService({ now: () => new Date(nowMs) });
    Object.assign(service.needs.config, { limits });
    return () => service.close();
  });

  const from = (address: string, path: string, headers: Record<string, string> = {}) =>
    service.app.request(path, { headers }, { address });
  const statuses = async (count: number, ask: () => Response | Promise<Response>): Promise<number[]> => {
    const all: number[] = [];
    for (let n = 0; n < count; n += 1) all.push((await ask()).status);
    return all;
  };
  const wrong = { authorization: "Bearer drva_wrong" };
  const right = { authorization: "Bearer the-admin-token" };

  it("with a token is told what is left, then 429 with the time to wait, and is served again after it", async () => {
    const first = await service.get("/v1/me");
    expect(first.headers.get("ratelimit-limit")).toBe("5");
    expect(first.headers.get("ratelimit-remaining")).toBe("9");
    expect(Number(first.headers.get("ratelimit-reset"))).toBe(1);
    expect(await statuses(9, () => service.fetch("/v1/me"))).not.toContain(429);
    const late = await service.get("/v1/me");
    expect(late).toMatchObject({ status: 429, body: problemDocument(429, "rate_limited") });
    expect(late.headers.get("retry-after")).toBe("1");
    expect(late.headers.get("ratelimit-remaining")).toBe("0");
    nowMs += 1000;
    expect((await service.get("/v1/me")).status).toBe(200);
  });

  it("without a token is counted by address, and nobody asks for life too often", async () => {
    expect(await statuses(7, () => from("192.0.2.1", "/openapi.json"))).toEqual([...Array(6).fill(200), 429]);
    expect((await from("192.0.2.1", "/docs")).status).toBe(429);
    expect((await from("192.0.2.2", "/docs")).status).toBe(200);
    expect(await statuses(20, () => from("192.0.2.1", "/healthz"))).toEqual(Array(20).fill(200));
    expect((await from("192.0.2.1", "/healthz")).headers.has("ratelimit-limit")).toBe(false);
  });

  it("by guessing tokens is slowed, also with one that happens to be good; those who were good there are not", async () => {
    const guess = () => from("192.0.2.1", "/v1/me", wrong);
    expect(await statuses(8, guess)).toEqual([...Array(6).fill(401), 429, 429]);
    const slowed = await from("192.0.2.1", "/v1/nothing", right);
    expect(slowed.status).toBe(429);
    expect(slowed.headers.get("retry-after")).toBe("10");
    expect((await from("192.0.2.2", "/v1/me", wrong)).status).toBe(401);
    expect((await from("192.0.2.2", "/v1/me", right)).status).toBe(200);
    expect((await from("192.0.2.1", "/v1/me", right)).status).toBe(200);
    nowMs += 10_000;
    expect(await statuses(2, guess)).toEqual([401, 429]);
  });

  it("by guessing join tokens is slowed just so", async () => {
    const guess = () =>
      service.app.request(
        "/v1/enroll",
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ joinToken: "drvj_wrong", name: "n", keyHash: "0".repeat(64) }),
        },
        { address: "192.0.2.1" },
      );
    Object.assign(service.needs.config, { limits: { ...limits, requestsPerAddress: 0 } });
    expect(await statuses(8, guess)).toEqual([...Array(6).fill(401), 429, 429]);
  });
});

describe("who keeps too much open", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService();
    Object.assign(service.needs.config, { limits: { ...limits, requestsPerToken: 0 } });
  });
  afterAll(() => service.close());

  it("gets 429 for one wait or stream more, nothing is started by it, and each that ends makes room", async () => {
    const { id } = await service.node();
    const streams = [await service.fetch("/v1/events"), await service.fetch("/v1/events")];
    const waiting = `/v1/processes?waitMs=1000`;
    const refused = await service.post(waiting, { node: id, command: "x" });
    expect(refused).toMatchObject({ status: 429, body: problemDocument(429, "rate_limited") });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await service.get("/v1/processes")).body["data"]).toEqual([]);
    await streams[0]?.body?.cancel();
    const away = new AbortController();
    const stream = await service.fetch("/v1/events", { signal: away.signal });
    expect(stream.status).toBe(200);
    expect((await service.fetch("/v1/events")).status).toBe(429);
    away.abort();
    const { body: started } = await service.post("/v1/processes", { node: id, command: "x" });
    const process = `/v1/processes/${String(started["id"])}`;
    for (const path of [
      `${process}?waitMs=1`,
      `${process}?waitMs=1`,
      `${process}/output?grep=x`,
      "/v1/processes/x?waitMs=1",
    ])
      expect([200, 404, 503]).toContain((await service.get(path)).status);
    expect((await service.fetch("/v1/events", { method: "HEAD" })).status).toBe(200);
    const last = await service.fetch("/v1/events");
    expect(last.status).toBe(200);
    await last.body?.cancel();
    await streams[1]?.body?.cancel();
  });
});
