import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { whatToRun } from "../../cli/what-to-run.ts";
import { runCli } from "./run-cli.ts";
import { json, problem, proc, ScriptedServer } from "./scripted-server.ts";

describe("a wrong call is told in one place on stderr and ends with 2:", () => {
  it.each([
    [["nonsense"], "unknown command"],
    [["exec"], "nothing to run"],
    [["exec", "-c", "x", "--", "y"], "not both"],
    [["exec", "--timeout", "5", "--", "x"], "is not a duration"],
    [["exec", "--timeout", "0s", "--", "x"], "longer than nothing"],
    [["exec", "--env", "=x", "--", "x"], "NAME=VALUE"],
    [["exec", "--no-such-option", "--", "x"], "unknown option"],
    [["ps", "-o", "xml"], "table or json"],
    [["stop"], "missing required argument"],
    [["logs", "proc_1", "--stream", "both"], "stdout or stderr"],
    [["send", "proc_1"], "nothing to send"],
    [["nodes"], "no control plane is known"],
    [["nodes", "--url", "ftp://x", "--token", "t"], "must look like http"],
    [["nodes", "--url", "http://x"], "no token for http://x"],
    [["nodes", "--profile", "none"], "no profile none"],
  ])("%j", async (words, text) => {
    const { code, stdout, stderr } = await runCli(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
    expect(stderr).not.toContain("    at ");
  });

  it("and help is not wrong", async () => {
    const { code, stdout } = await runCli(["exec", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Exit code:");
  });
});

describe("what runs", () => {
  it.each([
    [["ls", "-l"], { argv: ["ls", "-l"] }],
    [["./my-tool_2.sh"], { argv: ["./my-tool_2.sh"] }],
    [["a b"], { command: "a b" }],
    [["a;b"], { command: "a;b" }],
    [["echo", "a;b"], { argv: ["echo", "a;b"] }],
  ])("of %j is %j", (words, what) => expect(whatToRun(words, undefined)).toEqual(what));
});

describe("the verbs on processes", () => {
  let server: ScriptedServer;
  beforeEach(async () => {
    server = new ScriptedServer();
    await server.start();
  });
  afterEach(() => server.close());
  const cli = (...words: string[]) => runCli(words, { env: server.env, stdin: "ignore" });

  it("run starts in the background and prints the id alone", async () => {
    server.routes = { "POST /v1/processes": json(proc({ status: "queued" }), 201) };
    expect(await cli("run", "-n", "web", "--label", "a=b", "--", "sleep", "9")).toMatchObject({
      code: 0,
      stdout: "proc_1\n",
      stderr: "",
    });
    const { body, headers } = await server.got("POST /v1/processes");
    expect(body).toMatchObject({
      background: true,
      argv: ["sleep", "9"],
      labels: { a: "b" },
      output: "merged",
    });
    expect(headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("ps reads every page, and names the nodes", async () => {
    server.routes = {
      "GET /v1/processes": (response, { query }) =>
        json(
          query.get("cursor") === null
            ? { data: [proc()], nextCursor: "more" }
            : { data: [proc({ id: "proc_0", argv: ["a b"], command: null })], nextCursor: null },
        )(response, {} as never),
      "GET /v1/nodes": json({ data: [{ id: "node_1", name: "web" }], nextCursor: null }),
    };
    const { stdout } = await cli("ps");
    expect(stdout.split("\n").slice(1, 3)).toEqual([
      expect.stringMatching(/^proc_1  web   running  \d+d +0B +true$/),
      expect.stringMatching(/^proc_0  web   running  \d+d +0B +'a b'$/),
    ]);
    expect((await server.got("GET /v1/processes")).query.get("status")).toBe(
      "queued,starting,running,stopping",
    );
  });

  it("wait ends with the code of the first that did not succeed", async () => {
    server.routes = {
      "GET /v1/processes/proc_1": json(proc({ status: "exited", exitCode: 0 })),
      "GET /v1/processes/proc_2": json(proc({ id: "proc_2", status: "timed_out", reason: "idle_timeout" })),
    };
    expect(await cli("wait", "proc_1", "proc_2")).toMatchObject({
      code: 124,
      stdout: "proc_1 exited 0\nproc_2 timed_out idle_timeout\n",
    });
  });

  it("wait ends with 124 when its own time is over, and the process goes on", async () => {
    server.routes = { "GET /v1/processes/proc_1": json(proc()) };
    expect(await cli("wait", "proc_1", "--timeout", "20ms")).toMatchObject({
      code: 124,
      stderr: "drover: not all have ended in that time\n",
    });
  });

  it("stop, kill and send say what they want", async () => {
    server.routes = {
      "POST /v1/processes/proc_1/stop": json(proc({ status: "killed", reason: "stopped" })),
      "POST /v1/processes/proc_1/signal": json(proc()),
      "POST /v1/processes/proc_1/stdin": json({ writtenBytes: 9 }),
    };
    expect(await cli("stop", "proc_1", "--grace", "1s")).toMatchObject({
      code: 0,
      stdout: "proc_1 killed stopped\n",
    });
    expect(await cli("kill", "proc_1", "-s", "usr1", "--leader")).toMatchObject({ code: 0 });
    expect(await cli("send", "proc_1", "two", "words", "--eof")).toMatchObject({ code: 0, stdout: "" });
    expect((await server.got("POST /v1/processes/proc_1/stop")).body).toEqual({ graceMs: 1000 });
    expect((await server.got("POST /v1/processes/proc_1/signal")).body).toEqual({
      signal: "usr1",
      scope: "leader",
    });
    expect((await server.got("POST /v1/processes/proc_1/stdin")).body).toEqual({
      text: "two words\n",
      eof: true,
    });
  });

  it("stop goes on behind one that fails, and tells of it", async () => {
    server.routes = {
      "POST /v1/processes/proc_1/stop": problem(404, "not_found", "no such process"),
      "POST /v1/processes/proc_2/stop": json(proc({ id: "proc_2" })),
    };
    expect(await cli("stop", "proc_1", "proc_2")).toMatchObject({
      code: 125,
      stdout: "proc_2 running\n",
      stderr: "drover: proc_1: no such process\n",
    });
  });

  it("send - passes a whole file on", async () => {
    server.routes = {
      "POST /v1/processes/proc_1/stdin": (response, { body }) =>
        json({ writtenBytes: Buffer.from((body as { b64?: string }).b64 ?? "", "base64").length })(
          response,
          {} as never,
        ),
    };
    await runCli(["send", "proc_1", "--eof", "-"], { env: server.env, input: "dump\n" });
    expect((await server.got("POST /v1/processes/proc_1/stdin")).body).toEqual({
      b64: Buffer.from("dump\n").toString("base64"),
    });
    expect((await server.got("POST /v1/processes/proc_1/stdin", 2)).body).toEqual({ eof: true });
  });
});
