import { describe, expect, it, vi } from "vitest";
import postgres from "postgres";
import { chunkBytes, windowBytes } from "#shared/link/limits.ts";
import { toBase64 } from "#shared/base64.ts";
import { startProcessBody } from "#shared/api/process.ts";
import { startProcess } from "../../../control-plane/actions/start-process.ts";
import { askToStop } from "../../../control-plane/actions/stop-process.ts";
import { tick, type TickState } from "../../../control-plane/scheduler/tick.ts";
import { useTwoControlPlanes } from "./two-control-planes.ts";

describe("letters that are lost while both control planes go on", () => {
  const rigs = useTwoControlPlanes();

  const say = (follow: string, from: number): void => {
    const b64 = toBase64(new Uint8Array(chunkBytes));
    rigs.agent.say({ type: "output", follow, from, to: from + chunkBytes, b64 });
  };

  /** A follower at B that has taken one chunk. */
  const follower = async () => {
    const leaving = new AbortController();
    const what = { id: "proc_1", stream: "merged", from: 0 } as const;
    const reader = rigs.b.hub.follow(rigs.nodeId, what, leaving.signal)[Symbol.asyncIterator]();
    const first = reader.next();
    const { follow } = await rigs.agent.next("follow");
    say(follow, 0);
    expect((await first).value?.to).toBe(chunkBytes);
    return { leaving, reader, follow };
  };

  /** Reads until the follow is over. */
  const drained = async (reader: AsyncIterator<unknown>): Promise<void> => {
    while ((await reader.next()).done !== true);
  };

  it("a slow follower learns that it is over when either side stopped listening for a moment", async () => {
    const sql = postgres(rigs.url, { max: 1 });
    for (let side = 0; side < 2; side++) {
      const { reader, follow } = await follower();
      // One chunk more than its window holds: A waits for the follower.
      for (let from = chunkBytes; from <= windowBytes; from += chunkBytes) say(follow, from);
      await expect
        .poll(
          () =>
            rigs.agent
              .all("credit")
              .filter((each) => each.follow === follow)
              .at(-1)?.to,
        )
        .toBe(windowBytes);
      await expect.poll(() => letterCount(sql)).toBe(0);
      // The oldest: the one that was interrupted last is the youngest.
      const [pid] = await listeners(sql);
      await sql`select pg_terminate_backend(${pid ?? 0})`;
      // Before the follower goes on, the one that was interrupted listens again.
      await expect.poll(async () => (await listeners(sql)).filter((each) => each !== pid).length).toBe(2);
      await drained(reader);
    }
    await sql.end();
  });

  it("a follower at one that was taken for dead learns that it is over, though its letters are gone", async () => {
    const { reader, follow } = await follower();
    const { a, b } = rigs;
    const send = vi.spyOn(a.store.letters, "send").mockResolvedValue();
    // B comes back at once when it finds itself gone, and A would not have seen it missing.
    const { promise: isMissed, resolve: missed } = Promise.withResolvers<void>();
    const register = b.store.instances.register.bind(b.store.instances);
    vi.spyOn(b.store.instances, "register").mockImplementationOnce((self) =>
      isMissed.then(() => register(self)),
    );
    await a.store.instances.remove({ only: b.cluster.self });
    a.needs.bus.publish("instances");
    await expect.poll(() => rigs.agent.all("unfollow").map((frame) => frame.follow)).toContain(follow);
    missed();
    await drained(reader);
    send.mockRestore();
  });

  it("a stop whose letter was lost is told again by the holder of the node", async () => {
    const { process } = await startProcess(
      rigs.b.needs,
      startProcessBody.parse({ node: rigs.nodeId, command: "sleep 60", graceMs: 10 }),
    );
    await rigs.agent.next("start");
    rigs.agent.report({ id: process.id, status: "running" });
    const row = await rigs.b.until(process.id, ({ status }) => status === "running");
    vi.spyOn(rigs.b.store.letters, "sendToHolder").mockRejectedValueOnce(
      new Error("the connection was ended"),
    );
    await askToStop(rigs.b.needs, row, 10);
    let state: TickState = { since: new Date(), prunedAt: new Date() };
    for (const aheadMs of [0, 29_000, 31_000, 32_000]) {
      rigs.a.clock.aheadMs = aheadMs;
      state = await tick(rigs.a.needs, state);
    }
    rigs.a.clock.aheadMs = 0;
    expect(rigs.agent.all("stop")).toMatchObject([{ id: process.id, graceMs: 10 }]);
  });

  it("a chunk that the database did not take is sent again", async () => {
    const { leaving, reader, follow } = await follower();
    vi.spyOn(rigs.a.store.letters, "send").mockRejectedValueOnce(new Error("the connection was ended"));
    say(follow, chunkBytes);
    expect((await reader.next()).value?.to).toBe(2 * chunkBytes);
    leaving.abort();
    await drained(reader);
  });

  it("whoever waits for letters that were taken and not read is told at once", async () => {
    const { reader, follow } = await follower();
    const asked = rigs.b.hub.request(rigs.nodeId, { type: "ports", id: "proc_1" }, { timeoutMs: 60_000 });
    await rigs.agent.next("ports");
    const take = rigs.b.store.letters.take;
    vi.spyOn(rigs.b.store.letters, "take").mockImplementationOnce(async (...args) => {
      await take(...args);
      throw new Error("the connection was ended");
    });
    say(follow, chunkBytes);
    await drained(reader);
    expect(await asked).toEqual({ outcome: "no_answer" });
  });

  it("a follow that nobody at B knows of is ended by its first chunk", async () => {
    const { sendToHolder } = rigs.b.store.letters;
    vi.spyOn(rigs.b.store.letters, "sendToHolder").mockImplementationOnce(async (...args) => {
      await sendToHolder(...args);
      throw new Error("the connection was ended");
    });
    const what = { id: "proc_1", stream: "merged", from: 0 } as const;
    const reader = rigs.b.hub.follow(rigs.nodeId, what, new AbortController().signal)[Symbol.asyncIterator]();
    await expect(reader.next()).rejects.toThrow("the connection was ended");
    const { follow } = await rigs.agent.next("follow");
    say(follow, 0);
    await vi.waitFor(() => expect(rigs.agent.all("unfollow").map((frame) => frame.follow)).toContain(follow));
  });
});

async function listeners(sql: postgres.Sql): Promise<number[]> {
  const found = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query in ('listen drover', 'select 1')
    order by backend_start`;
  return found.map(({ pid }) => pid);
}

async function letterCount(sql: postgres.Sql): Promise<number> {
  const [found] = await sql<{ count: number }[]>`select count(*)::int as count from relay`;
  return found?.count ?? 0;
}
