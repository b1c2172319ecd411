import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { isFinal } from "#shared/process-state.ts";
import { eventually } from "../support/eventually.ts";
import { bytesOf, hear } from "../support/event-stream.ts";
import { useProduct } from "../support/product.ts";
import { Proxy, type Verdict } from "../support/proxy.ts";

const product = useProduct();
let proxy: Proxy;

beforeAll(async () => {
  proxy = await Proxy.to(product.port);
  await product.agent("n1", { url: proxy.url });
});
afterEach(async () => {
  proxy.judge = () => "pass";
  proxy.delayMs = 0;
  await product.status("n1", "online");
});
afterAll(() => proxy.close());

const lines = (name: string) => readFileSync(join(product.folder, name), "utf8").trim().split("\n");
const start = (command: string, more: Record<string, unknown> = {}) =>
  product.api.start({ node: "n1", cwd: product.folder, command, ...more });

/** Breaks the line at the next frames of a kind from the control plane; answers how often it did. */
const breakAt = (type: string, verdict: Verdict, times = 1) => {
  const broken = { times: 0 };
  proxy.judge = (text, direction) => {
    if (direction !== "down" || broken.times >= times || !text.includes(`"type":"${type}"`)) return "pass";
    broken.times += 1;
    return verdict;
  };
  return broken;
};

describe("a line that breaks", () => {
  it.each<[string, Verdict]>([
    ["before the start arrives", "cut before"],
    ["after the start went out and before it is confirmed", "cut after"],
  ])("%s runs the command once", async (_when, verdict) => {
    const broken = breakAt("start", verdict, 2);
    const file = `runs-${verdict.replace(" ", "-")}`;
    const { id } = await start(`echo run >>${file}; exit 4`);
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 4 });
    expect(broken.times).toBeGreaterThan(0);
    expect(lines(file)).toEqual(["run"]);
  });

  it.each<[string, Verdict]>([
    ["before the ending is acknowledged", "cut before"],
    ["just as the ending is acknowledged", "cut after"],
  ])("%s leaves one true ending", async (_when, verdict) => {
    const broken = breakAt("acknowledge", verdict, 3);
    const { id } = await start("sleep 0.2; echo last words; exit 9");
    const done = await product.api.final(id);
    expect(done).toMatchObject({ status: "exited", exitCode: 9 });
    await eventually(() => broken.times > 0);
    proxy.judge = () => "pass";
    await product.status("n1", "online");
    expect(await product.api.process(id)).toMatchObject({
      status: "exited",
      exitCode: 9,
      exitedAt: done.exitedAt,
      output: { totalBytes: 11 },
    });
    expect((await product.api.output(id)).text).toBe("last words\n");
  });

  it("again and again under output keeps every byte for a reader who follows", async () => {
    const { id } = await start(
      "i=0; until [ -e calm ]; do seq 1 2000; i=$((i+1)); sleep 0.05; done; echo the end; exit $((i % 100))",
    );
    const heard = hear(product.api, id);
    const left = { cuts: 5, chunks: 8 };
    // On each line some output passes before it breaks.
    proxy.judge = (_text, direction) => {
      if (direction === "down" || left.cuts === 0 || left.chunks-- > 0) return "pass";
      left.cuts -= 1;
      left.chunks = 8;
      return "cut before";
    };
    await eventually(() => left.cuts === 0, 50_000);
    writeFileSync(join(product.folder, "calm"), "");
    const once = Array.from({ length: 2000 }, (_, n) => `${n + 1}\n`).join("");
    const text = bytesOf(await heard).toString();
    const rounds = Math.floor(text.length / once.length);
    expect(text === `${once.repeat(rounds)}the end\n`).toBe(true);
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: rounds % 100 });
  });

  it("does not end a stop that was asked for: it is carried out when the node is back", async () => {
    const { id } = await start("trap '' TERM; echo up; while :; do sleep 0.1; done", { graceMs: 0 });
    await product.api.printed(id, "up");
    proxy.lower();
    await product.status("n1", "unreachable");
    const asked = await product.api.stop(id, 0);
    expect(asked.stale).toBe(true);
    expect(isFinal(asked.status)).toBe(false);
    proxy.raise();
    expect(await product.api.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
  });

  it("refuses new starts at once, and questions to the node, while it is broken", async () => {
    const { id } = await start("echo up; sleep 600");
    await product.api.printed(id, "up");
    proxy.lower();
    await product.status("n1", "unreachable");
    const offline = { status: 503, value: { code: "node_offline" } };
    expect(
      await product.api.api("POST /v1/processes", { body: { node: "n1", command: "true" } }),
    ).toMatchObject(offline);
    expect(
      await product.api.api(`POST /v1/processes/${id}/signal`, { body: { signal: "TERM" } }),
    ).toMatchObject(offline);
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: true });
    proxy.raise();
    await product.status("n1", "online");
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: false });
    await product.api.stop(id);
  });

  it("or is slow changes neither order nor content", async () => {
    proxy.delayMs = 150;
    const { id } = await start('while read -r line; do echo "got $line"; done; exit 2', { stdin: "pipe" });
    for (const text of ["one\n", "two\n", "three\n"])
      await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { text } });
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { eof: true } });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 2 });
    expect((await product.api.output(id)).text).toBe("got one\ngot two\ngot three\n");
  });
});

describe("200 quick commands while the line breaks five times a second", () => {
  it("have one effect and one true ending each", async () => {
    const count = 200;
    const breaking = setInterval(() => proxy.cut(), 200);
    const opened = proxy.opened;
    try {
      const queue = Array.from({ length: count }, (_, n) => n);
      const run = async (n: number) => {
        const { id } = await start(`echo ${n} >>storm; echo out ${n}; exit ${n % 120}`, {
          ifOffline: "queue",
        });
        const done = await product.api.final(id);
        return { n, id, status: done.status, exitCode: done.exitCode };
      };
      const worker = async () => {
        const done: Awaited<ReturnType<typeof run>>[] = [];
        for (let n = queue.shift(); n !== undefined; n = queue.shift()) done.push(await run(n));
        return done;
      };
      const all = (await Promise.all(Array.from({ length: 16 }, worker))).flat();
      clearInterval(breaking);
      expect(proxy.opened).toBeGreaterThan(opened + 2);
      for (const { n, status, exitCode } of all)
        expect({ n, status, exitCode }).toEqual({ n, status: "exited", exitCode: n % 120 });
      expect(
        lines("storm")
          .map(Number)
          .toSorted((a, b) => a - b),
      ).toEqual(Array.from({ length: count }, (_, n) => n));
      await product.status("n1", "online");
      for (const { n, id } of all) expect((await product.api.output(id)).text).toBe(`out ${n}\n`);
    } finally {
      clearInterval(breaking);
    }
    expect(existsSync(join(product.folder, "storm"))).toBe(true);
  }, 180_000);
});
