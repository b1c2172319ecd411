import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openService, type Service } from "./service.ts";

/** Routes that are no GET and change nothing; whoever adds one says why it needs no entry. */
const onlyRead = new Set(["waitForProcess", "tryPolicy"]);
/** Routes that get and leave an entry all the same. */
const watched = new Set(["returnFromProvider"]);

type Description = { paths: Record<string, Record<string, { operationId: string }>> };

describe("the audit of every route", () => {
  let service: Service;
  let operations: { method: string; path: string; operationId: string }[];
  beforeAll(async () => {
    service = await openService();
    const { paths } = (await service.get("/openapi.json")).body as Description;
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({
        ...{ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, "none"), operationId },
      })),
    );
  });
  afterAll(() => service.close());

  const entriesOf = async (operationId: string): Promise<unknown[]> =>
    (await service.get(`/v1/audit?operation=${operationId}`)).body["data"] as unknown[];
  const left = async (operation: (typeof operations)[number]): Promise<number> => {
    const before = (await entriesOf(operation.operationId)).length;
    const abort = new AbortController();
    const body =
      operation.method === "GET" ? {} : { body: "{}", headers: { "content-type": "application/json" } };
    await service.fetch(operation.path, { method: operation.method, ...body, signal: abort.signal });
    abort.abort();
    return (await entriesOf(operation.operationId)).length - before;
  };

  it("has one entry for each call of a route that changes, and none for one that reads", async () => {
    const found: Record<string, number> = {};
    for (const operation of operations) found[operation.operationId] = await left(operation);
    const expected = operations.map(({ method, operationId }) => [
      operationId,
      watched.has(operationId) || (method !== "GET" && !onlyRead.has(operationId)) ? 1 : 0,
    ]);
    expect(found).toEqual(Object.fromEntries(expected));
    expect(expected.length).toBeGreaterThan(30);
  });
});
