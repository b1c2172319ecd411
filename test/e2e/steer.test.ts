import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { eventually, pidsWith } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2"] });
const start = (command: string, more: Record<string, unknown> = {}) =>
  product.api.start({ node: "n1", command, ...more });
type Waited = {
  met: string | null;
  match?: { from: number; to: number; text: string };
  port?: number;
  process: ProcessView;
};
const wait = (id: string, body: Record<string, unknown>) =>
  product.api.get<Waited>(`POST /v1/processes/${id}/wait`, { body: { waitMs: 30_000, ...body } });
const send = (id: string, body: Record<string, unknown>) =>
  product.api.get(`POST /v1/processes/${id}/stdin`, { body });

describe("waiting", () => {
  it("for a text or an expression tells where it stands", async () => {
    const { id } = await start("printf 'é one\\n'; read -r line; echo ready on 8080; sleep 600", {
      stdin: "pipe",
    });
    const waiting = wait(id, { for: ["pattern"], pattern: "ready on [0-9]+", regex: true });
    expect(await wait(id, { for: ["pattern"], pattern: "one" })).toMatchObject({
      met: "pattern",
      match: { from: 0, text: "é one" },
    });
    await send(id, { text: "\n" });
    expect(await waiting).toMatchObject({
      met: "pattern",
      match: { from: 7, to: 20, text: "ready on 8080" },
      process: { status: "running" },
    });
    await product.api.stop(id);
  });

  it("for a port is over when somebody of the tree listens there", async () => {
    const port = 20_000 + (process.pid % 20_000);
    const script = `require("net").createServer().listen(${port}, "127.0.0.1")`;
    const { id } = await start(`'${process.execPath}' -e '${script}' & wait`);
    expect(await wait(id, { for: ["port"], port })).toMatchObject({ met: "port", port });
    expect(await product.api.get(`GET /v1/processes/${id}/ports`)).toMatchObject({
      ports: [{ port, pid: expect.any(Number) }],
    });
    expect(await product.api.stop(id)).toMatchObject({ survivors: [] });
  });

  it("for quiet, for the end, and for nothing that comes", async () => {
    const { id } = await start("for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; read -r line; exit 3", {
      stdin: "pipe",
    });
    expect(await wait(id, { for: ["quiet"], quietMs: 400 })).toMatchObject({
      met: "quiet",
      process: { status: "running" },
    });
    expect((await product.api.output(id)).text).toBe("1\n2\n3\n4\n5\n");
    expect(await wait(id, { for: ["pattern"], pattern: "never", waitMs: 50 })).toMatchObject({
      met: null,
      process: { status: "running" },
    });
    const both = wait(id, { for: ["exit", "pattern"], pattern: "never" });
    await send(id, { eof: true });
    expect(await both).toMatchObject({ met: "exit", process: { status: "exited", exitCode: 3 } });
    expect(await wait(id, { for: ["exit"] })).toMatchObject({ met: "exit" });
  });

  it("with a long poll is a look only: the process goes on when the time is up", async () => {
    const body = { node: "n1", command: "echo begin; read -r line; exit 4", stdin: "pipe" };
    const begun = await product.api.get<ProcessView & { result: { text: string } }>("POST /v1/processes", {
      body,
      query: { waitMs: 300 },
    });
    expect(begun).toMatchObject({ status: "running", exitCode: null, result: { text: "begin\n" } });
    const waiters = Array.from({ length: 5 }, () =>
      product.api.get(`GET /v1/processes/${begun.id}`, { query: { waitMs: 30_000 } }),
    );
    await send(begun.id, { eof: true });
    for (const seen of await Promise.all(waiters))
      expect(seen).toMatchObject({ status: "exited", exitCode: 4 });
  });

  it("that its client leaves ends nothing else", async () => {
    const leaving = new AbortController();
    const { id } = await start("echo up; read -r line; exit 5", { stdin: "pipe" });
    await product.api.printed(id, "up");
    const left = product.api
      .api(`GET /v1/processes/${id}`, { query: { waitMs: 30_000 }, signal: leaving.signal })
      .catch(() => "left");
    leaving.abort();
    expect(await left).toBe("left");
    await send(id, { eof: true });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
  });
});

describe("steering", () => {
  it("extends the time limit of a process that runs", async () => {
    const { id } = await start("echo up; read -r line; exit 6", { stdin: "pipe", timeoutMs: 2000 });
    await product.api.printed(id, "up");
    expect(
      await product.api.get(`POST /v1/processes/${id}/extend`, { body: { timeoutMs: 600_000 } }),
    ).toMatchObject({ timeoutMs: 600_000 });
    const other = await product.api.exec({ node: "n1", command: "sleep 600", timeoutMs: 2500 });
    expect(other).toMatchObject({ status: "timed_out" });
    expect(await product.api.process(id)).toMatchObject({ status: "running" });
    // It counts from the start, so this one would lie in the past.
    expect(
      await product.api.api(`POST /v1/processes/${id}/extend`, { body: { timeoutMs: 1 } }),
    ).toMatchObject({ status: 400, value: { code: "invalid_request" } });
    await send(id, { eof: true });
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 6 });
  });

  it("signals the leader alone, or all of the tree", async () => {
    const { id } = await start(
      "trap 'echo leader' USR1; (trap 'echo child' USR1; while :; do sleep 0.05; done) & echo up; while :; do sleep 0.05; done",
      { output: "split" },
    );
    await wait(id, { for: ["pattern"], pattern: "up" });
    const printed = async (text: string) =>
      (await product.api.output(id, { stream: "stdout" })).text.includes(text);
    await product.api.get(`POST /v1/processes/${id}/signal`, { body: { signal: "usr1", scope: "leader" } });
    await eventually(() => printed("leader"));
    expect(await printed("child")).toBe(false);
    await product.api.get(`POST /v1/processes/${id}/signal`, { body: { signal: "SIGUSR1", scope: "tree" } });
    await eventually(() => printed("child"));
    await product.api.stop(id);
  });

  it("stops many at once, and a stop of a stopped one changes nothing", async () => {
    const all = await Promise.all(
      Array.from({ length: 10 }, () => start("trap '' TERM; echo up; sleep 600 & sleep 600")),
    );
    for (const { id } of all) await product.api.printed(id, "up");
    await Promise.all(all.flatMap(({ id }) => [product.api.stop(id, 100), product.api.stop(id, 100)]));
    // A stop answers after a bounded wait, ended or still stopping.
    for (const { id } of all) {
      const stopped = await product.api.final(id);
      expect(stopped).toMatchObject({ status: "killed", reason: "stopped", survivors: [] });
      expect(pidsWith(id)).toEqual([]);
    }
  });
});

describe("what outlives its leader", () => {
  it("is listed, counted and recorded, and ends by stop", async () => {
    const done = await product.api.exec({
      node: "n2",
      command: "(trap 'echo last; exit' TERM; while :; do sleep 0.05; done) & echo left; exit 2",
    });
    expect(done).toMatchObject({ status: "exited", exitCode: 2, result: { text: "left\n" } });
    expect(done.survivors.length).toBeGreaterThan(0);
    expect((await product.node("n2")).running).toBe(1);
    expect(await product.api.api(`DELETE /v1/processes/${done.id}`)).toMatchObject({
      status: 409,
      value: { code: "conflict" },
    });
    expect(await product.api.stop(done.id, 5000)).toMatchObject({
      status: "exited",
      exitCode: 2,
      survivors: [],
    });
    expect((await product.api.output(done.id)).text).toMatch(/^left\n(.*\n)?last\n$/);
    expect(pidsWith(done.id)).toEqual([]);
    await eventually(async () => (await product.node("n2")).running === 0);
  });

  it("is swept when it was not to live on", async () => {
    const done = await product.api.exec({
      node: "n1",
      command: "setsid sleep 600 & echo left; exit 2",
      keepDescendants: false,
    });
    expect(done).toMatchObject({ status: "exited", exitCode: 2 });
    await eventually(() => pidsWith(done.id).length === 0);
    await eventually(async () => (await product.api.process(done.id)).survivors.length === 0);
  });

  it("does not hold back the ending, and a last word of a child still counts", async () => {
    const done = await product.api.exec({
      node: "n1",
      command: "(sleep 0.2; echo last) & echo first; exit 0",
    });
    expect(done).toMatchObject({ status: "exited", exitCode: 0, result: { text: "first\nlast\n" } });
  });
});

describe("the records", () => {
  it("are deleted only when they ended, with their output", async () => {
    const { id } = await start("echo up; sleep 600");
    expect(await product.api.api(`DELETE /v1/processes/${id}`)).toMatchObject({ status: 409 });
    await product.api.stop(id);
    expect((await product.api.api(`DELETE /v1/processes/${id}`)).status).toBe(204);
    for (const call of [
      `GET /v1/processes/${id}`,
      `GET /v1/processes/${id}/output`,
      `DELETE /v1/processes/${id}`,
    ])
      expect((await product.api.api(call)).status).toBe(404);
  });

  it("are listed newest first, page by page, by node, status and labels", async () => {
    type Page = { data: ProcessView[]; nextCursor: string | null };
    const made = [];
    for (let n = 0; n < 7; n++)
      made.push(
        await product.api.exec({ node: "n2", command: `exit ${n}`, labels: { batch: "b", n: String(n) } }),
      );
    const seen: ProcessView[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const query = { label: "batch=b", limit: 3, ...(cursor === "" ? {} : { cursor }) };
      const page: Page = await product.api.get<Page>("GET /v1/processes", { query });
      expect(page.data.length).toBeLessThanOrEqual(3);
      seen.push(...page.data);
      cursor = page.nextCursor;
    }
    expect(seen.map(({ id }) => id)).toEqual(made.map(({ id }) => id).toReversed());
    const ids = async (query: string) =>
      (await product.api.get<Page>(`GET /v1/processes?label=batch=b&${query}`)).data.map(
        ({ exitCode }) => exitCode,
      );
    expect(await ids("label=n=3")).toEqual([3]);
    expect(await ids("label=n=3&label=n=3")).toEqual([3]);
    expect(await ids("node=n1")).toEqual([]);
    expect(await ids("node=n2&status=exited,killed")).toEqual([6, 5, 4, 3, 2, 1, 0]);
    expect(await ids("status=running")).toEqual([]);
    for (const wrong of [
      "limit=0",
      "limit=201",
      "limit=x",
      "cursor=nonsense",
      "status=done",
      "label=noequals",
      "label=n=3&label=n=4",
      "colour=red",
    ])
      expect({ wrong, status: (await product.api.api(`GET /v1/processes?${wrong}`)).status }).toEqual({
        wrong,
        status: 400,
      });
  });
});
