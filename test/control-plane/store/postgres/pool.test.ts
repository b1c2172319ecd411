import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as check } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { databaseAt } from "../../../../control-plane/entry/database-socket.ts";
import { openPool, type Pool } from "../../../../control-plane/store/postgres/pool.ts";
import { eventually } from "../../../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../../../support/postgres.ts";

let database: TestDatabase;
let sockets: Socket[];
let sql: Pool;

/** A pool whose sockets can be broken. */
const opened = (poolSize: number): Pool => {
  const at = databaseAt(database.url);
  const socket: typeof at.socket = (place) => {
    const made = at.socket(place) as Socket;
    sockets.push(made);
    return made;
  };
  return openPool({ ...at, socket, poolSize });
};

beforeAll(async () => {
  database = await testDatabase();
});
beforeEach(() => {
  sockets = [];
  sql = opened(1);
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
/** The same in a transaction. */
const askWithin = async (): Promise<Said> => {
  const asked = ++numbers;
  const said: unknown = await sql
    .begin(async (transaction) => {
      await transaction`select pg_sleep(0.001)`;
      return (await transaction`select ${asked}::int as answer`).map(({ answer }) => answer as number);
    })
    .catch(() => "failed");
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
      answers.push(ask(), askWithin());
      await moment();
    }
  return answers;
}

const reset = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const breaks = {
  "with an error": (socket: Socket) => void socket.destroy(reset()),
  "without a word": (socket: Socket) => void socket.destroy(),
  "in order": (socket: Socket) => void socket.end(),
};

const expectAllWell = async () => {
  const after = await Promise.all([ask(), askWithin(), ask(), askWithin(), ask()]);
  expect(after.map(({ asked, said }) => [[asked], said])).toEqual(
    after.map(({ asked }) => [[asked], [asked]]),
  );
};

describe("a connection of the pool that breaks", () => {
  it.each(
    Object.keys(breaks).flatMap((how) =>
      ["idle", "busy", "in a transaction"].map((state) => [how, state] as const),
    ),
  )("%s while it is %s fails what was asked, and gives nobody another's answer", async (how, state) => {
    expect(isHonest(await ask())).toBe(true);
    const before = sockets[0]?.bytesWritten;
    const busy =
      state === "idle"
        ? undefined
        : (state === "busy"
            ? sql`select pg_sleep(5)`
            : sql.begin((transaction) => transaction`select pg_sleep(5)`)
          ).catch(() => "failed");
    await eventually(() => busy === undefined || sockets[0]?.bytesWritten !== before);
    breaks[how as keyof typeof breaks](sockets.at(-1) as Socket);
    const answers = await Promise.all(await askOn(50));
    expect(answers.filter((answer) => !isHonest(answer))).toEqual([]);
    if (busy !== undefined) expect(await busy).toBe("failed");
    await expectAllWell();
  });

  it("again and again under load gives nobody another's answer", async () => {
    sql = opened(4);
    const answers: Promise<Said>[] = [];
    for (let n = 0; n < 60; n++) {
      answers.push(...(await askOn(4)));
      const socket = sockets.at(-1 - (n % Math.min(4, sockets.length)));
      if (socket) Object.values(breaks)[n % 3]?.(socket);
    }
    expect((await Promise.all(answers)).filter((answer) => !isHonest(answer))).toEqual([]);
    await expectAllWell();
  });

  it.each(["in order", "with a reset"])(
    "by a server that ends it %s before it is ready fails the question",
    async (how) => {
      const server = createServer((line) => void (how === "in order" ? line.end() : line.resetAndDestroy()));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const away = openPool({ ...databaseAt(`postgres://a:b@127.0.0.1:${port}/c`), poolSize: 1 });
      const asked = [away`select 1`, away`select 2`, away.begin((transaction) => transaction`select 3`)];
      for (const each of await Promise.allSettled(asked))
        expect(each).toMatchObject({ reason: { code: expect.any(String) as string } });
      await away.end({ timeout: 0 });
      server.close();
    },
  );

  it.each(Object.keys(breaks))("%s fails no question but those it had", async (how) => {
    sql = opened(2);
    await Promise.all([sql`select pg_sleep(0.02)`, sql`select pg_sleep(0.02)`]);
    for (const socket of sockets) breaks[how as keyof typeof breaks](socket);
    const said = [];
    for (let n = 0; n < 3; n++) said.push(await ask());
    expect(said.filter((each) => each.said === "failed").length).toBeLessThanOrEqual(2);
    expect(said.at(-1)?.said).toEqual([said.at(-1)?.asked]);
  });

  it("before it is there says why", async () => {
    const away = openPool({ ...databaseAt("postgres://a:b@127.0.0.1:1/c"), poolSize: 1 });
    await expect(away`select 1`).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await away.end({ timeout: 0 });
  });
});

describe("the pool", () => {
  it("gives whole answers after one that broke off in the middle of its rows", async () => {
    const broken = sql`select 1 / (3 - n) as x from generate_series(1, 5) as n`;
    await expect(broken).rejects.toThrow("division by zero");
    expect([...(await sql`select 7 as answer`)]).toEqual([{ answer: 7 }]);
    expect(sockets).toHaveLength(1);
  });

  it("runs a question once, and a part of one not at all", async () => {
    await sql`create temp table counted (n int)`;
    const question = sql`insert into counted values (1) returning n`;
    await Promise.all([question, question.then((rows) => rows)]);
    const part = sql`n > ${0}`;
    const rows = await sql`select n from counted where ${part}`;
    expect({ rows: [...rows], count: rows.count }).toEqual({ rows: [{ n: 1 }], count: 1 });
  });

  it("keeps a transaction apart from everything else, and undoes one that fails", async () => {
    sql = opened(2);
    await sql`create table apart (n int)`;
    const failing = sql.begin(async (transaction) => {
      await transaction`insert into apart values (1)`;
      await ask();
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await sql`select * from apart`).toHaveLength(0);
  });

  it("lets what is asked wait while each connection is in a transaction", async () => {
    sql = opened(2);
    const held = Promise.withResolvers<void>();
    const transactions = [1, 2, 3].map(() => sql.begin(() => held.promise));
    await eventually(() => sockets.length === 2);
    const waiting = ask();
    held.resolve();
    await Promise.all(transactions);
    expect(isHonest(await waiting)).toBe(true);
    expect(sockets).toHaveLength(2);
  });

  it("answers what is under way when it is ended, and nothing after that", async () => {
    const under = sql`select pg_sleep(0.05), 5 as answer`.then(([row]) => row?.["answer"] as number);
    await eventually(() => sockets.length === 1);
    const ended = sql.end({ timeout: 5 });
    await expect(sql`select 1`).rejects.toMatchObject({ code: "CONNECTION_ENDED" });
    expect(await under).toBe(5);
    await ended;
  });
});
