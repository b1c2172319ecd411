import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bytesOf, hear } from "../support/event-stream.ts";
import { eventually, pidsWith } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1"] });
const agent = () => {
  const found = product.agents.get("n1");
  if (!found) throw new Error("no agent");
  return found;
};

let marks = 0;
/** A folder for one test in which commands leave signs. */
const signs = () => {
  const folder = join(product.folder, `signs ${marks++}`);
  mkdirSync(folder);
  const path = (name: string) => join(folder, name);
  return {
    folder,
    give: (name: string) => writeFileSync(path(name), ""),
    lines: (name: string) =>
      existsSync(path(name)) ? readFileSync(path(name), "utf8").trim().split("\n") : [],
  };
};
const untilGiven = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;

describe("kill -9 of the agent", () => {
  it("changes nothing for a command that ends meanwhile: one run, every byte, its own code", async () => {
    const { folder, give, lines } = signs();
    const { id } = await product.api.start({
      node: "n1",
      cwd: folder,
      command: `echo run >>runs; echo begin; ${untilGiven("go")}; seq 1 20000; echo ended >>runs; exit 7`,
    });
    await product.api.printed(id, "begin");
    await agent().kill();
    await product.status("n1", "unreachable");
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: true });
    give("go");
    await eventually(() => lines("runs").length === 2);
    await agent().start();
    expect(await product.api.final(id)).toMatchObject({
      status: "exited",
      exitCode: 7,
      signal: null,
      stale: false,
    });
    const expected = `begin\n${Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join("")}`;
    expect((await product.api.raw(id)).toString()).toBe(expected);
    expect(lines("runs")).toEqual(["run", "ended"]);
  });

  it("leaves a command that lives on to the next agent, with its stdin, its signals and its limits", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: 'echo begin; while read -r line; do echo "got $line"; done; echo over',
      stdin: "pipe",
    });
    const limited = await product.api.start({
      node: "n1",
      command: "echo begin; sleep 600",
      timeoutMs: 3000,
    });
    const stoppable = await product.api.start({ node: "n1", command: "echo begin; sleep 600 & sleep 600" });
    for (const each of [id, limited.id, stoppable.id]) await product.api.printed(each, "begin");
    const { pid } = await product.api.process(id);
    await agent().restart();
    await product.status("n1", "online");
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "one\n", eof: true } });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 0, pid });
    expect((await product.api.output(id)).text).toBe("begin\ngot one\nover\n");
    expect(await product.api.stop(stoppable.id, 5000)).toMatchObject({
      status: "killed",
      reason: "stopped",
      survivors: [],
    });
    expect(await product.api.final(limited.id)).toMatchObject({
      status: "timed_out",
      reason: "hard_timeout",
    });
    for (const each of [id, limited.id, stoppable.id]) expect(pidsWith(each)).toEqual([]);
  });

  it("in the midst of many starts runs each of them once", async () => {
    const { folder, lines } = signs();
    const starts = Array.from({ length: 30 }, (_, n) =>
      product.api.start({
        node: "n1",
        cwd: folder,
        command: `echo ${n} >>runs; exit ${n}`,
        ifOffline: "queue",
      }),
    );
    const first = await Promise.race(starts);
    await agent().kill();
    const started = await Promise.all(starts);
    expect(started.map(({ id }) => id)).toContain(first.id);
    await agent().start();
    const done = await Promise.all(started.map(({ id }) => product.api.final(id)));
    expect(done.map(({ status, exitCode }) => [status, exitCode])).toEqual(
      started.map((_, n) => ["exited", n]),
    );
    expect(
      lines("runs")
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual(started.map((_, n) => n));
  });

  it("is a pause for a reader who follows: nothing lost, nothing twice", async () => {
    const { folder, give } = signs();
    const { id } = await product.api.start({
      node: "n1",
      cwd: folder,
      command: `seq 1 1000; ${untilGiven("go")}; seq 1001 2000`,
    });
    const heard = hear(product.api, id);
    await product.api.printed(id, "1000");
    await agent().kill();
    give("go");
    await agent().start();
    expect(bytesOf(await heard).toString()).toBe(
      Array.from({ length: 2000 }, (_, n) => `${n + 1}\n`).join(""),
    );
  });

  it("does not end a reader of a command that has ended while a child of it writes on", async () => {
    const { folder, give } = signs();
    const { id } = await product.api.start({
      node: "n1",
      cwd: folder,
      command: `(${untilGiven("go")}; echo late) & echo early; exit 5`,
    });
    const heard = hear(product.api, id);
    const looked = async () => product.api.process(id);
    await eventually(async () => (await looked()).survivors.length > 0);
    await agent().restart();
    await product.status("n1", "online");
    await eventually(async () => !(await looked()).stale);
    expect(await looked()).toMatchObject({ status: "exited", exitCode: 5 });
    give("go");
    expect(bytesOf(await heard).toString()).toBe("early\nlate\n");
  });

  it("keeps what can be read of an ended command, and its head and tail while the node is away", async () => {
    const { id } = await product.api.exec({ node: "n1", command: "seq 1 100000" });
    const whole = await product.api.raw(id);
    await agent().kill();
    await product.status("n1", "unreachable");
    expect(await product.api.output(id)).toMatchObject({
      totalBytes: whole.length,
      truncated: { originalBytes: whole.length, retainedBytes: 32_768 },
    });
    expect((await product.api.output(id, { view: "head", headBytes: 10 })).text).toBe(
      whole.subarray(0, 10).toString(),
    );
    expect((await product.api.output(id, { view: "tail", lines: 2 })).text).toBe("99999\n100000\n");
    const away = await product.api.api(`GET /v1/processes/${id}/output`, {
      query: { view: "range", from: 100_000, to: 100_010 },
    });
    expect(away).toMatchObject({ status: 503, value: { code: "node_offline" } });
    await agent().start();
    await product.status("n1", "online");
    expect(await product.api.raw(id)).toEqual(whole);
    expect((await product.api.output(id, { view: "range", from: 100_000, to: 100_010 })).text).toBe(
      whole.subarray(100_000, 100_010).toString(),
    );
  });

  it("together with the command's wrapper leaves no invented code, and nothing alive", async () => {
    const { id } = await product.api.start({ node: "n1", command: "echo begin; sleep 600" });
    await product.api.printed(id, "begin");
    await agent().kill();
    for (const pid of pidsWith(id)) process.kill(pid, "SIGKILL");
    await agent().start();
    expect(await product.api.final(id)).toMatchObject({
      status: "lost",
      reason: "wrapper_killed",
      exitCode: null,
    });
    expect(pidsWith(id)).toEqual([]);
  });
});
