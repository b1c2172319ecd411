import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { AuditEntry, AuditFilter } from "../../control-plane/store/store.ts";
import { after, auditEntry, enrolledNode, inserted, type OpenStore } from "./store-samples.ts";

export function auditContract(store: OpenStore, url: () => string): void {
  const audit = () => store().audit;
  let raw: postgres.Sql;
  beforeAll(() => {
    raw = postgres(url(), { max: 1 });
  });
  afterAll(() => raw.end());

  const added = async (change: Partial<AuditEntry> = {}): Promise<AuditEntry> => {
    const made = auditEntry(change);
    await audit().append(made);
    return made;
  };
  const ids = async (filter: AuditFilter & { limit?: number; after?: { at: Date; id: string } }) =>
    (await audit().list({ limit: 100, ...filter })).map(({ id }) => id);
  const found = async ({ id, actorId }: AuditEntry) =>
    (await audit().list({ limit: 100, actor: actorId ?? "" })).find((row) => row.id === id);

  describe("the audit", () => {
    it("has entries as they were added, many at a time, whatever characters are in them", async () => {
      const many = Array.from({ length: 20 }, (_, n) => auditEntry({ at: after(n), input: { n } }));
      await Promise.all(many.map((each) => audit().append(each)));
      expect(await Promise.all(many.map(found))).toEqual(many);
      const odd = await added({ input: { command: "nul \0 \ud800" } });
      expect((await found(odd))?.input).toEqual({ command: "nul \u{FFFD} \u{FFFD}" });
    });

    it("finds the node of a process, and of a name, and keeps what was said of one that is gone", async () => {
      const node = await enrolledNode(store());
      const process = await inserted(store(), { nodeId: node.id });
      const place = { nodeId: node.id, nodeName: node.name };
      expect(await found(await added({ objectId: process.id }))).toMatchObject(place);
      expect(await found(await added({ nodeId: node.name }))).toMatchObject(place);
      const changed = await added({ objectKind: "node", objectId: node.name, nodeId: node.name });
      expect(await found(changed)).toMatchObject({ ...place, objectId: node.id });
      const unknown = await added({ objectKind: "node", objectId: "no-such", nodeId: "no-such" });
      expect(await found(unknown)).toMatchObject({ objectId: "no-such", nodeId: null, nodeName: null });
      const gone = { nodeId: newId("node"), nodeName: "gone" };
      expect(await found(await added({ objectKind: "node", ...gone }))).toMatchObject(gone);
    });

    it("is listed newest first, page by page", async () => {
      const actorId = newId("tok");
      const [a, b, c] = [
        await added({ actorId, at: after(1) }),
        await added({ actorId, at: after(2) }),
        await added({ actorId, at: after(2) }),
      ];
      expect(await ids({ actor: actorId })).toEqual([c.id, b.id, a.id]);
      expect(await ids({ actor: actorId, limit: 1, after: c })).toEqual([b.id]);
      expect(await ids({ actor: actorId, after: b })).toEqual([a.id]);
    });

    it("is filtered by who, what, where, when and what came of it", async () => {
      const node = await enrolledNode(store());
      const [actorId, objectId, actorName] = [newId("tok"), newId("proc"), `name of ${newId("tok")}`];
      const one = await added({ actorId, objectId, actorName, nodeId: node.id, operation: "stopProcess" });
      const other = await added({ actorId, at: after(1), status: 403, code: "forbidden" });
      for (const filter of [
        { operation: "stopProcess" },
        { objectId },
        { node: node.name },
        { node: node.id },
      ])
        expect(await ids({ actor: actorId, ...filter })).toEqual([one.id]);
      expect(await ids({ actor: actorName })).toEqual([one.id]);
      expect(await ids({ actor: actorId, statuses: [400, 499] })).toEqual([other.id]);
      expect(await ids({ actor: actorId, code: "forbidden" })).toEqual([other.id]);
      expect(await ids({ actor: actorId, from: after(1) })).toEqual([other.id]);
      expect(await ids({ actor: actorId, to: after(1) })).toEqual([one.id]);
    });

    it("is not changed, not emptied and not deleted, but for what a retention lets go, a bounded number at a time", async () => {
      const long = (ms: number) => after(ms, new Date("2020-01-01T00:00:00.000Z"));
      const old = [await added({ at: long(0) }), await added({ at: long(1) }), await added({ at: long(2) })];
      const young = await added({ at: new Date() });
      const refused = /neither changed nor deleted/;
      await expect(
        raw`update audit set actor_name = 'nobody' where id = ${old[0]?.id ?? ""}`,
      ).rejects.toThrow(refused);
      await expect(raw`delete from audit where id = ${old[0]?.id ?? ""}`).rejects.toThrow(refused);
      await expect(raw`truncate audit`).rejects.toThrow(refused);
      const whatever = raw.begin(async (sql) => {
        await sql`select set_config('drover.audit_retention', 'infinity', true)`;
        await sql`delete from audit where id = ${young.id}`;
      });
      await expect(whatever).rejects.toThrow(refused);
      expect(await audit().prune(long(2), 1)).toBe(1);
      expect(await audit().prune(long(2), 10)).toBe(1);
      expect(await audit().prune(long(2), 10)).toBe(0);
      expect((await Promise.all(old.map(found))).map((row) => row?.id)).toEqual([
        undefined,
        undefined,
        old[2]?.id,
      ]);
      await expect(raw`delete from audit where id = ${old[2]?.id ?? ""}`).rejects.toThrow(refused);
    });
  });
}
