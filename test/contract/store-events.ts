import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import type { EventPosition, EventRow, NewEvent } from "../../control-plane/store/store.ts";
import {
  after,
  enrolledNode,
  eventsBegin,
  newSession,
  noon,
  settledEvents,
  type OpenStore,
} from "./store-samples.ts";

const hello = { ...newSession, now: after(100) };

export function eventsContract(store: OpenStore, url: () => string): void {
  const events = () => store().events;
  let raw: postgres.Sql;
  beforeAll(() => {
    raw = postgres(url(), { max: 3 });
  });
  afterAll(() => raw.end());

  const event = (n: number, change: Partial<NewEvent> = {}): NewEvent => ({
    at: after(n),
    type: "node.changed",
    nodeId: newId("node"),
    data: { n },
    ...change,
  });
  const page = (position: EventPosition, limit = 100) => settledEvents(store(), position, limit);
  const numbers = (rows: EventRow[]) => rows.map(({ data }) => data["n"]);
  const insert = (sql: postgres.ISql, n: number) =>
    sql`insert into events (at, type, data) values (${noon}, 'node.changed', ${sql.json({ n })})`;

  /** A transaction that has done `work` and stays open until it is told to commit. */
  async function openTransaction(work: (sql: postgres.TransactionSql) => PromiseLike<unknown>) {
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const whole = raw.begin(async (sql) => {
      await work(sql);
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    return {
      commit: async () => {
        end.resolve();
        await whole;
      },
    };
  }

  describe("events", () => {
    it("come as they were appended, in order, page by page, from a position on", async () => {
      const begin = await eventsBegin(store());
      const all = [event(1), event(2, { nodeId: null }), event(3, { data: { n: 3, text: "nul \0" } })];
      await events().append(all.slice(0, 2));
      await events().append(all.slice(2));
      await events().append([]);
      const first = await page(begin, 2);
      expect(first).toMatchObject(all.slice(0, 2));
      const second = await page(first[1]?.position ?? begin, 2);
      expect(second).toMatchObject([{ data: { n: 3, text: "nul \u{FFFD}" } }]);
      expect(await page(second[0]?.position ?? begin)).toEqual([]);
    });

    it("wait for a transaction that is open, so that none which commits later is passed over", async () => {
      const begin = await eventsBegin(store());
      const open = await openTransaction((sql) => insert(sql, 1));
      await events().append([event(2)]);
      expect(await events().after(begin, 100)).toMatchObject({
        events: [],
        heldBack: true,
        isLast: true,
        upTo: begin,
      });
      await open.commit();
      expect(numbers(await page(begin))).toEqual([1, 2]);
    });

    it("are not passed over either when a transaction numbered its event before an older one did", async () => {
      const begin = await eventsBegin(store());
      // The older one has its number of a transaction first, the younger one the smaller number of an event.
      let young: Awaited<ReturnType<typeof openTransaction>> | undefined;
      const old = await openTransaction(async (sql) => {
        await sql`select pg_current_xact_id()`;
        young = await openTransaction((other) => insert(other, 2));
        await insert(sql, 1);
      });
      await old.commit();
      const first = await page(begin);
      expect(numbers(first)).toEqual([1]);
      await young?.commit();
      expect(numbers(await page(first[0]?.position ?? begin))).toEqual([2]);
    });

    it("of one node come in the order they happened, also when one had to wait for the other", async () => {
      const { id, name } = await enrolledNode(store());
      const begin = await eventsBegin(store());
      const holder = await openTransaction((sql) => sql`select 1 from nodes where id = ${id} for update`);
      const connecting = store().nodes.connected(id, hello);
      await expect.poll(() => waiting("was_away"), { interval: 5 }).toBe(1);
      await events().append([event(1, { nodeId: id, data: { name } })]);
      await holder.commit();
      await connecting;
      expect((await page(begin)).map(({ type }) => type)).toEqual(["node.changed", "node.online"]);
    });

    it("tell once that a node is offline, also when several look while its row is held", async () => {
      const { id } = await enrolledNode(store());
      await store().nodes.connected(id, hello);
      await store().nodes.disconnected(id, { epoch: 1, orderly: false, now: after(200) });
      const begin = await eventsBegin(store());
      const holder = await openTransaction((sql) => sql`select 1 from nodes where id = ${id} for update`);
      const look = () => store().nodes.settleOffline({ before: after(300), now: after(400) });
      const looks = [look(), look()];
      // Each of them is through, or waits for the row.
      const through = { count: 0 };
      for (const each of looks) void each.then(() => (through.count += 1));
      await expect.poll(async () => through.count + (await waiting("gone as")), { interval: 5 }).toBe(2);
      await holder.commit();
      await Promise.all([...looks, look()]);
      const told = (await page(begin)).filter(({ nodeId, type }) => nodeId === id && type === "node.offline");
      expect(told).toHaveLength(1);
    });

    it("begin with what comes: a position of now is behind all that happened and not ahead", async () => {
      await events().append([event(1)]);
      const now = await eventsBegin(store());
      expect(await events().isAhead(now)).toBe(false);
      await events().append([event(2)]);
      const row = (await page(now)).at(-1);
      const position = row?.position ?? now;
      expect(row).toMatchObject({ data: { n: 2 } });
      expect(await events().isAhead(position)).toBe(false);
      expect(await events().isAhead({ ...position, id: position.id + 1 })).toBe(true);
      expect(await events().isAhead({ ...position, transaction: position.transaction + 10_000n })).toBe(true);
    });

    it("are forgotten past their time, and a reader who missed one is told so", async () => {
      const fresh = after(86_400_000);
      await raw`delete from events`;
      const before = await eventsBegin(store());
      await events().append([event(1), event(2)]);
      const [first, second] = (await page(before)).map(({ position }) => position);
      if (first === undefined || second === undefined) throw new Error("no events");
      await events().append([event(3, { at: fresh })]);
      expect(await events().prune(fresh)).toBe(2);
      expect(await events().prune(fresh)).toBe(0);
      expect(await events().after(before, 1)).toBe("expired");
      expect(await events().after(first, 1)).toBe("expired");
      expect(numbers(await page(second))).toEqual([3]);
      expect(await events().prune(after(1, fresh))).toBe(2);
      expect(await events().after(second, 100)).toBe("expired");
      expect(await page(await eventsBegin(store()))).toEqual([]);
    });

    it("of a database that was restored into another cluster do not hide what comes", async () => {
      await events().append([event(1, { at: after(1e9) })]);
      const begin = await eventsBegin(store());
      await raw`update events set transaction = '99999999999'`;
      await events().prune(noon);
      await events().append([event(2, { at: after(1e9) })]);
      expect(numbers(await page(begin))).toEqual([2]);
      expect(await events().isAhead({ transaction: 99_999_999_999n, id: 1 })).toBe(true);
    });
  });

  /** Statements with this text that wait for a lock. */
  const waiting = async (text: string): Promise<number> =>
    (
      await raw`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${text}%`}`
    ).count;
}
