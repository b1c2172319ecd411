import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { eventually } from "../../support/eventually.ts";
import type { ExecView } from "../../support/api.ts";
import type { Product } from "../../support/product.ts";

type Waited = { met: string | null; match?: { from: number; to: number; text: string }; port?: number };
type Page = { data: ProcessView[]; nextCursor: string | null };

/** Commands on a node, from their start to their record. */
export const processes = (product: Product): void => {
  const start = (command: string, more: Record<string, unknown> = {}) =>
    product.api.start({ node: "n1", command, ...more });
  const exec = (more: Record<string, unknown>): Promise<ExecView> =>
    product.api.exec({ node: "n1", ...more });
  const post = (id: string, verb: string, body: object = {}) =>
    product.api.api<ProcessView & { code: string; writtenBytes: number }>(
      `POST /v1/processes/${id}/${verb}`,
      {
        body,
      },
    );
  const wait = (id: string, body: object) =>
    product.api.get<Waited & { process: ProcessView }>(`POST /v1/processes/${id}/wait`, {
      body: { waitMs: 30_000, ...body },
    });
  const send = (id: string, body: object) => product.api.get(`POST /v1/processes/${id}/stdin`, { body });
  const refused = (body: object, headers: Record<string, string> = {}) =>
    product.api.api("POST /v1/processes", { body: { node: "n1", ...body }, headers });

  describe("a process", () => {
    it("runs as it was asked to, and answers with its ending and its output", async () => {
      const cases: [Record<string, unknown>, Record<string, unknown>, string][] = [
        [{ command: "echo out; echo err >&2; exit 3" }, { status: "exited", exitCode: 3 }, "out\nerr\n"],
        [{ argv: ["printf", "%s|", "a b", "$HOME", "é"] }, { exitCode: 0 }, "a b|$HOME|é|"],
        [{ command: 'echo "$A"', env: { A: "b c" } }, { exitCode: 0 }, "b c\n"],
        [{ command: 'echo "$DROVER_NODE"' }, { exitCode: 0 }, "n1\n"],
        [{ command: "pwd", cwd: product.folder }, { cwd: product.folder }, `${product.folder}\n`],
        [{ command: "cat", stdin: { text: "given €" } }, { exitCode: 0 }, "given €"],
        [{ command: "cat" }, { exitCode: 0 }, ""],
        [{ command: "exit 137" }, { status: "exited", exitCode: 137, signal: null }, ""],
        [{ command: "kill -9 $$" }, { status: "exited", exitCode: null, signal: "KILL" }, ""],
        [{ command: "true", cwd: "/nowhere" }, { status: "failed", reason: "cwd_not_found" }, ""],
      ];
      await Promise.all(
        cases.map(async ([body, ending, text]) => {
          const done = await exec(body);
          expect({ body, ...done }).toMatchObject({ body, ...ending, result: { text } });
        }),
      );
    });

    it("keeps its two streams apart where it was asked to", async () => {
      const done = await exec({ command: "echo out; echo err >&2", output: "split" });
      expect(done.result).toMatchObject({ stdout: { text: "out\n" }, stderr: { text: "err\n" } });
      const { id } = done;
      expect((await product.api.output(id, { stream: "stderr" })).text).toBe("err\n");
      const merged = { query: { stream: "merged", view: "range" } };
      expect((await product.api.api(`GET /v1/processes/${id}/output`, merged)).status).toBe(400);
    });

    it("reads what is written to it, text and bytes, until it is told that there is no more", async () => {
      const { id } = await start("echo up; cat; exit 4", { stdin: "pipe" });
      await product.api.printed(id, "up");
      expect(await post(id, "stdin", { text: "é" })).toMatchObject({
        status: 200,
        value: { writtenBytes: 2 },
      });
      const b64 = Buffer.of(0, 255).toString("base64");
      expect((await post(id, "stdin", { b64, eof: true })).value.writtenBytes).toBe(2);
      expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 4 });
      expect(await product.api.raw(id)).toEqual(Buffer.from([...Buffer.from("up\né"), 0, 255]));
      expect(await post(id, "stdin", { text: "late" })).toMatchObject({
        status: 409,
        value: { code: "process_not_running" },
      });
    });

    it("is only looked at by a wait: it goes on when the time is up or the client leaves", async () => {
      const body = { node: "n1", command: "echo up; read -r line; exit 5", stdin: "pipe" };
      const query = { waitMs: 300 };
      const begun = await product.api.get<ExecView>("POST /v1/processes", { body, query });
      expect(begun).toMatchObject({ exitedAt: null, exitCode: null });
      await product.api.printed(begun.id, "up");
      const leaving = new AbortController();
      const long = { query: { waitMs: 60_000 } };
      const left = product.api
        .api(`GET /v1/processes/${begun.id}`, { ...long, signal: leaving.signal })
        .catch(() => "left");
      const stays = product.api.get(`GET /v1/processes/${begun.id}`, long);
      leaving.abort();
      expect(await left).toBe("left");
      await send(begun.id, { eof: true });
      expect(await stays).toMatchObject({ status: "exited", exitCode: 5 });
    });

    it("is waited for: a text, an expression, a port, quiet, its end, or nothing", async () => {
      const port = 20_000 + (process.pid % 20_000);
      const listen = `require("net").createServer().listen(${port}, "127.0.0.1", () => console.log("ready on " + ${port}))`;
      const { id } = await start(
        `printf 'é one\\n'; '${process.execPath}' -e '${listen}' & read -r line; exit 3`,
        {
          stdin: "pipe",
        },
      );
      const text = wait(id, { for: ["pattern"], pattern: "one" });
      const expression = wait(id, { for: ["exit", "pattern"], pattern: "ready on [0-9]+", regex: true });
      const listening = wait(id, { for: ["port"], port });
      expect(await text).toMatchObject({ met: "pattern", match: { from: 0, text: "é one" } });
      expect(await expression).toMatchObject({ met: "pattern", match: { text: `ready on ${port}` } });
      expect(await listening).toMatchObject({ met: "port", port, process: { id } });
      const ports = await product.api.get(`GET /v1/processes/${id}/ports`);
      expect(ports).toMatchObject({ ports: [{ port, pid: expect.any(Number) }] });
      expect(await wait(id, { for: ["quiet"], quietMs: 100 })).toMatchObject({ met: "quiet" });
      const never = { for: ["pattern"], pattern: "never", waitMs: 50 };
      expect(await wait(id, never)).toMatchObject({ met: null, process: { exitCode: null } });
      const end = wait(id, { for: ["exit"] });
      await send(id, { eof: true });
      expect(await end).toMatchObject({ met: "exit", process: { status: "exited", exitCode: 3 } });
      expect(await product.api.stop(id)).toMatchObject({ survivors: [] });
    });

    it("gets signals while it lives, and no others", async () => {
      const { id } = await start("trap 'echo got; exit 6' USR1; echo up; while :; do sleep 0.05; done");
      await product.api.printed(id, "up");
      expect((await post(id, "signal", { signal: "NONSENSE" })).status).toBe(400);
      expect((await post(id, "signal", { signal: "sigusr1", scope: "leader" })).status).toBe(200);
      expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 6 });
      expect(await post(id, "signal", { signal: "TERM" })).toMatchObject({
        status: 409,
        value: { code: "process_not_running" },
      });
    });

    it("is stopped with all it started, what outlived it too", async () => {
      const stubborn = await start("trap '' TERM; echo up; sleep 600 & sleep 600");
      await product.api.printed(stubborn.id, "up");
      expect((await post(stubborn.id, "stop", { graceMs: 100 })).status).toBe(200);
      expect(await product.api.final(stubborn.id)).toMatchObject({
        ...{ status: "killed", reason: "stopped", signal: "KILL", survivors: [] },
      });
      const left = await exec({ command: "sleep 600 >/dev/null 2>&1 & echo left; exit 2" });
      expect(left).toMatchObject({ status: "exited", exitCode: 2 });
      expect(left.survivors.length).toBeGreaterThan(0);
      expect((await product.api.api(`DELETE /v1/processes/${left.id}`)).status).toBe(409);
      // The body may be left out.
      const stopped = await product.api.get(`POST /v1/processes/${left.id}/stop`);
      expect(stopped).toMatchObject({ status: "exited", exitCode: 2, survivors: [] });
    });

    it("ends by its limits, which may be extended while it runs", async () => {
      const extended = await start("echo up; read -r line; exit 7", { stdin: "pipe", timeoutMs: 3000 });
      await product.api.printed(extended.id, "up");
      const [hard, idle] = await Promise.all([
        exec({ command: "sleep 600", timeoutMs: 300 }),
        exec({ command: "echo up; sleep 600", idleTimeoutMs: 300, idleOn: ["output"] }),
        post(extended.id, "extend", { timeoutMs: 600_000 }),
      ]);
      expect(hard).toMatchObject({ status: "timed_out", reason: "hard_timeout", exitCode: null });
      expect(idle).toMatchObject({ status: "timed_out", reason: "idle_timeout", result: { text: "up\n" } });
      expect(await product.api.process(extended.id)).toMatchObject({ status: "running", timeoutMs: 600_000 });
      await send(extended.id, { eof: true });
      expect(await product.api.final(extended.id)).toMatchObject({ status: "exited", exitCode: 7 });
    });

    it("is refused where it makes no sense, is no good idea, or cannot be had", async () => {
      expect(await refused({ command: "rm -rf /" })).toMatchObject({
        status: 422,
        value: { code: "command_refused", rule: expect.any(String) },
      });
      const unsupported = { status: 422, value: { code: "not_supported" } };
      expect(await refused({ command: "true", pty: { cols: 80, rows: 24 } })).toMatchObject(unsupported);
      expect(await refused({ command: "true", limits: { pids: 9 } })).toMatchObject({
        status: 422,
        value: { code: "not_supported", field: "limits.pids" },
      });
      const { id } = await exec({ command: "true" });
      expect(await post(id, "resize", { cols: 1, rows: 1 })).toMatchObject(unsupported);
      expect(await product.api.api(`GET /v1/processes/${id}/attach`)).toMatchObject(unsupported);
      expect((await refused({ command: "true", argv: ["true"] })).status).toBe(400);
      expect((await refused({ command: "a\0b" })).status).toBe(400);
      expect((await refused({ command: "true", node: "nobody" })).status).toBe(404);
      for (const unknown of ["nonsense", "proc_01h0000000000000000000000x", id.toUpperCase()])
        for (const [verb, path] of [
          ["GET", ""],
          ["GET", "/output"],
          ["GET", "/events"],
          ["GET", "/ports"],
          ["POST", "/stop"],
          ["DELETE", ""],
        ])
          expect(await product.api.api(`${verb} /v1/processes/${unknown}${path}`)).toMatchObject({
            status: 404,
            value: { code: "not_found" },
          });
    });

    it("with a command of a mebibyte reaches the node whole", async () => {
      const text = "é".repeat(500_000);
      const done = await exec({ command: `printf %s '${text}' | sha256sum`, stdin: { text } });
      expect(done).toMatchObject({ exitCode: 0 });
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
      expect(done.result.text).toContain(Buffer.from(digest).toString("hex"));
    });

    it("is listed with the others, newest first, page by page, by node, status and label", async () => {
      const made = [];
      for (let n = 0; n < 5; n++)
        made.push(await exec({ command: `exit ${n}`, labels: { batch: "conformance", n: `${n}` } }));
      const pages: ProcessView[] = [];
      const first = { label: "batch=conformance", limit: 2 };
      for (let cursor: string | null = ""; cursor !== null;) {
        const query = cursor === "" ? first : { ...first, cursor };
        const page: Page = await product.api.get<Page>("GET /v1/processes", { query });
        pages.push(...page.data);
        cursor = page.nextCursor;
      }
      expect(pages.map(({ id }) => id)).toEqual(made.map(({ id }) => id).toReversed());
      const codes = async (query: string) =>
        (await product.api.get<Page>(`GET /v1/processes?label=batch=conformance&${query}`)).data.map(
          ({ exitCode }) => exitCode,
        );
      expect(await codes("label=n=3&node=n1&status=exited,killed")).toEqual([3]);
      expect(await codes("node=n2")).toEqual([]);
      expect(await codes("status=running")).toEqual([]);
    });

    it("is deleted once it has ended, with its output", async () => {
      const { id } = await start("echo up; sleep 600");
      await product.api.printed(id, "up");
      expect((await product.api.api(`DELETE /v1/processes/${id}`)).status).toBe(409);
      await product.api.stop(id);
      await eventually(async () => (await product.api.api(`DELETE /v1/processes/${id}`)).status === 204);
      for (const path of ["", "/output"])
        expect((await product.api.api(`GET /v1/processes/${id}${path}`)).status).toBe(404);
    });
  });
};
