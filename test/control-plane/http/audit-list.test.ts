import { DroverError } from "#shared/errors.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditView } from "#shared/api/audit.ts";
import { newId } from "#shared/ids.ts";
import type { AuditEntry } from "../../../control-plane/store/store.ts";
import { after, auditEntry } from "../../contract/store-samples.ts";
import { openService, type Service } from "./service.ts";

const actor = newId("tok");

const entry = (n: number): AuditEntry => auditEntry({ actorId: actor, at: after(n), input: { n } });

describe("GET /v1/audit", () => {
  let service: Service;
  const all = 1203;
  beforeAll(async () => {
    service = await openService();
    await Promise.all(Array.from({ length: all }, (_, n) => service.needs.store.audit.append(entry(n))));
  });
  afterAll(() => service.close());

  type Page = { data: AuditView[]; nextCursor: string | null };
  const page = async (query: string): Promise<Page> =>
    (await service.get(`/v1/audit?actor=${actor}&${query}`)).body as Page;
  const numbers = ({ data }: Page) => data.map(({ input }) => input["n"]);

  it("answers pages, newest first, that follow each other", async () => {
    const first = await page("limit=2");
    expect(numbers(first)).toEqual([all - 1, all - 2]);
    const second = await page(`limit=2&cursor=${first.nextCursor ?? ""}`);
    expect(numbers(second)).toEqual([all - 3, all - 4]);
    const [from, to] = [after(0).toISOString(), after(2).toISOString()];
    const end = await page(`from=${from}&to=${to}`);
    expect([numbers(end), end.nextCursor]).toEqual([[1, 0], null]);
  });

  it("refuses what is no filter of it, and says what would be one", async () => {
    for (const [query, path] of [
      ["cursor=x", "cursor"],
      ["result=good", "result"],
      ["from=yesterday", "from"],
      ["limit=201", "limit"],
      ["format=ndjson&limit=5", "limit"],
    ] as const)
      expect(await service.get(`/v1/audit?${query}`)).toMatchObject({
        status: 400,
        body: { issues: [{ path }] },
      });
  });

  it("exports all that matches as lines, asked for by format or by Accept", async () => {
    for (const [query, headers] of [
      ["&format=ndjson", {}],
      ["", { accept: "application/x-ndjson" }],
    ] as const) {
      const answer = await service.fetch(`/v1/audit?actor=${actor}${query}`, { headers });
      expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
      const lines = (await answer.text()).trimEnd().split("\n");
      expect(lines).toHaveLength(all);
      const shown = lines.map((line) => (JSON.parse(line) as AuditView).input["n"]);
      expect(shown).toEqual(Array.from({ length: all }, (_, n) => all - 1 - n));
    }
  });

  it("reads on only while its reader takes, and leaves nothing open when that one leaves", async () => {
    const asked: number[] = [];
    const { audit } = service.needs.store;
    const list: typeof audit.list = (query) => {
      asked.push(query.limit);
      return audit.list(query);
    };
    const watched = await openService({
      store: { ...service.needs.store, audit: { ...audit, list } },
    });
    const { body } = await watched.fetch(`/v1/audit?actor=${actor}&format=ndjson`);
    const reader = body?.getReader();
    await reader?.read();
    expect(asked).toHaveLength(1);
    await reader?.read();
    expect(asked).toHaveLength(2);
    await reader?.cancel();
    expect(asked).toHaveLength(2);
    await watched.close();
  });

  it("breaks an export off when the control plane closes, so that it does not look whole", async () => {
    const ending = await openService({ store: service.needs.store });
    const { body } = await ending.fetch(`/v1/audit?actor=${actor}&format=ndjson`);
    const reader = body?.getReader();
    await reader?.read();
    ending.closing.abort();
    await expect(reader?.read()).rejects.toThrow(/abort/i);
    await ending.close();
  });
});

describe("an entry that cannot be written", () => {
  it.each([
    ["error", new Error("a bug")],
    // What a database does now and then.
    ["warn", new DroverError("unavailable", "The database does not answer.")],
  ])("is logged whole as %s, and what was done is answered all the same", async (level, failure) => {
    const logged: { event: string; fields: Record<string, unknown> }[] = [];
    const service = await openService();
    const { audit } = service.needs.store;
    const hear = (event: string, fields: Record<string, unknown> = {}) => void logged.push({ event, fields });
    const append = () => Promise.reject(failure);
    const broken = await openService({
      store: { ...service.needs.store, audit: { ...audit, append } },
      log: { ...service.needs.log, [level]: hear },
    });
    const answer = await broken.post("/v1/join-tokens", { labels: { a: "b" } });
    expect(answer.status).toBe(201);
    expect(logged).toMatchObject([
      {
        event: "audit.failed",
        fields: {
          entry: { operation: "createJoinToken", input: { labels: { a: "b" } }, status: 201 },
          error: { message: failure.message },
        },
      },
    ]);
    await broken.close();
    await service.close();
  });
});
