import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as check } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { databaseSocket } from "../../../control-plane/entry/database-socket.ts";
import { openClient, type Pool } from "../../../control-plane/store/postgres/client.ts";
import { eventually } from "../../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let sockets: Socket[];
let sql: Pool;
const opened = (place: Parameters<typeof databaseSocket>[0]): Socket => {
  const socket = databaseSocket(place);
  sockets.push(socket);
  return socket;
};

beforeAll(async () => {
  database = await testDatabase();
});
beforeEach(() => {
  sockets = [];
  sql = openClient({ url: database.url, poolSize: 1, socket: opened });
});
afterEach(() => sql.end({ timeout: 0 }));
afterAll(() => database.drop());

type Said = { asked: number; said: unknown };

let numbers = 0;
/** A question with an answer of its own, and what comes of it. */
const ask = async (): Promise<Said> => {
  const asked = ++numbers;
  const said: unknown = await sql`select ${asked}::int as answer`.then(
    (rows) => rows.map(({ answer }) => answer as number),
    () => "failed",
  );
  return { asked, said };
};
const isHonest = ({ asked, said }: Said): boolean =>
  said === "failed" || (Array.isArray(said) && said.length === 1 && said[0] === asked);

/** Asks again and again, at every moment there is, until `ms` have passed. */
async function askOn(ms: number): Promise<Promise<Said>[]> {
  const answers: Promise<Said>[] = [];
  const moments = [() => Promise.resolve(), () => new Promise<void>(process.nextTick), () => check()];
  for (const until = performance.now() + ms; performance.now() < until && answers.length < 200;)
    for (const moment of moments) {
      answers.push(ask());
      await moment();
    }
  return answers;
}

const breakSocket = (): void =>
  void sockets.at(-1)?.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));

describe("a connection of the database that breaks", () => {
  it.each(["idle", "busy"])(
    "while it is %s fails what was asked, and gives nobody another's answer",
    async (state) => {
      expect(isHonest(await ask())).toBe(true);
      const before = sockets[0]?.bytesWritten;
      const busy = state === "busy" ? sql`select pg_sleep(5)`.catch(() => "failed") : undefined;
      await eventually(() => busy === undefined || sockets[0]?.bytesWritten !== before);
      breakSocket();
      const answers = await Promise.all(await askOn(50));
      expect(answers.filter((answer) => !isHonest(answer))).toEqual([]);
      if (busy !== undefined) expect(await busy).toBe("failed");
      const after = await Promise.all([ask(), ask(), ask()]);
      expect(after.map(({ asked, said }) => [[asked], said])).toEqual(
        after.map(({ asked }) => [[asked], [asked]]),
      );
    },
  );

  it.each(["in order", "with a reset"])(
    "by a server that ends it %s before it is ready fails the question",
    async (how) => {
      const server = createServer((line) => void (how === "in order" ? line.end() : line.resetAndDestroy()));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const away = openClient({
        url: `postgres://a:b@127.0.0.1:${port}/c`,
        poolSize: 1,
        socket: databaseSocket,
      });
      await expect(away`select 1`).rejects.toMatchObject({ code: expect.any(String) as string });
      await away.end({ timeout: 0 });
      server.close();
    },
  );

  it("before it is there says why", async () => {
    const away = openClient({ url: "postgres://a:b@127.0.0.1:1/c", poolSize: 1, socket: databaseSocket });
    await expect(away`select 1`).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await away.end({ timeout: 0 });
  });
});
