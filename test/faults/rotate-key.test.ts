// A key is replaced in steps on two machines; whichever dies between two of them, the agent must still be let in.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { useProduct, type Agent } from "../support/product.ts";
import { Proxy, type Verdict } from "../support/proxy.ts";

const product = useProduct();
let proxy: Proxy;
let agent: Agent;
beforeAll(async () => {
  proxy = await Proxy.to(product.port);
  agent = await product.agent("n1", { url: proxy.url });
});
afterAll(() => proxy.close());

type Keys = { key: string; nextKey?: string };
const keys = (): Keys => JSON.parse(readFileSync(join(agent.dataDir, "identity.json"), "utf8")) as Keys;
const rotate = () => product.api.api("POST /v1/nodes/n1/rotate-key");
const works = async () => {
  await product.status("n1", "online");
  expect(await product.api.exec({ node: "n1", command: "exit 7" })).toMatchObject({ exitCode: 7 });
  await eventually(() => keys().nextKey === undefined);
};
/** The agent with one key, whatever was before. */
const settled = async (): Promise<Keys> => {
  await agent.restart();
  await works();
  return keys();
};
/** Lets the line end at the first frame that holds a text. */
const endAt = (text: string, verdict: Verdict) => {
  proxy.judge = (passing) => {
    if (!passing.includes(text)) return "pass";
    proxy.judge = () => "pass";
    return verdict;
  };
};

describe("a key that is being replaced", () => {
  it.each([
    ["before the agent hears of it", '"type":"rotate-key"', "cut before"],
    ["between the agent's write and its answer", '"type":"reply"', "cut before"],
  ] as const)("survives a line that ends %s", async (_, text, verdict) => {
    const { key } = await settled();
    endAt(text, verdict);
    expect((await rotate()).status).toBe(503);
    await works();
    expect(keys().key).toBe(key);
    expect((await rotate()).status).toBe(200);
    expect(keys().key).toBe(key);
    expect(keys().nextKey).toBeDefined();
  });

  it("survives kill -9 of the agent between its write and its answer", async () => {
    const { key } = await settled();
    endAt('"type":"reply"', "cut before");
    const rotating = rotate();
    await eventually(() => keys().nextKey !== undefined);
    await agent.kill();
    expect((await rotating).status).toBe(503);
    await agent.start();
    await works();
    expect(keys().key).toBe(key);
  });

  it("survives kill -9 of the control plane between the answer and the commit, and one of the agent on top", async () => {
    const sql = postgres(product.databaseUrl, { max: 1 });
    let rotating: Promise<unknown> = Promise.resolve();
    await sql.begin(async (held) => {
      await held`select from nodes where name = 'n1' for share`;
      rotating = rotate().catch(() => undefined);
      await eventually(() => keys().nextKey !== undefined);
      await eventually(async () => {
        const waiting = await held`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%key_hash =%'`;
        return waiting.length > 0;
      });
      await product.killControlPlane();
      await agent.kill();
    });
    await sql.end();
    await rotating;
    await product.startControlPlane();
    await agent.start();
    await works();
  });

  it("survives kill -9 of both after the commit", async () => {
    await settled();
    expect((await rotate()).status).toBe(200);
    const { nextKey } = keys();
    await Promise.all([product.killControlPlane(), agent.kill()]);
    await product.startControlPlane();
    await agent.start();
    await works();
    expect(keys().key).toBe(nextKey);
  });
});
