import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli, startCli, type Ended } from "./run-cli.ts";
import { end, events, exit, json, output, problem, proc, ScriptedServer, sse } from "./scripted-server.ts";

let server: ScriptedServer;

beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
  server.routes = { "POST /v1/processes": json(proc(), 201), "GET /v1/processes/proc_1": json(proc()) };
});
afterEach(() => server.close());

const exec = (words: string[], input?: string | Buffer): Promise<Ended> =>
  runCli(
    ["exec", "-n", "web", ...words],
    input === undefined ? { env: server.env, stdin: "ignore" } : { env: server.env, input },
  );

const follows = (...told: Parameters<typeof events>): void => {
  server.routes["GET /v1/processes/proc_1/events"] = events(...told);
};

describe("drover exec ends with", () => {
  it.each([
    { ending: { exitCode: 3 }, code: 3 },
    { ending: { status: "timed_out", signal: "KILL", reason: "hard_timeout" }, code: 124 },
    { ending: { status: "lost", reason: "node_rebooted" }, code: 255 },
  ] as const)("$code when the process ends as $ending", async ({ ending, code }) => {
    follows(exit(ending), end);
    expect((await exec(["--", "x"])).code).toBe(code);
  });

  it.each([
    [503, "node_offline", 255],
    [422, "command_refused", 125],
    [404, "not_found", 125],
    [401, "unauthorized", 125],
    [400, "invalid_request", 2],
  ])("a code and one line when its start is answered %i %s", async (status, code, exitCode) => {
    server.routes["POST /v1/processes"] = problem(status, code, "because of this");
    expect(await exec(["--", "x"])).toMatchObject({
      code: exitCode,
      stdout: "",
      stderr: "drover: because of this\n",
    });
  });

  it("125 and one line that names the address when no control plane is there", async () => {
    const { url } = server;
    await server.close();
    const ended = await runCli(["exec", "--", "x"], {
      env: { DROVER_URL: url, DROVER_TOKEN: "t" },
      stdin: "ignore",
    });
    expect(ended.code).toBe(125);
    expect(ended.stderr).toBe(`drover: cannot reach the control plane at ${url}: nothing listens there\n`);
    await server.start();
  });
});

describe("drover exec shows", () => {
  it("stdout and stderr apart, byte for byte, and nothing else", async () => {
    const bytes = Buffer.from([0, 255, 254, 10]);
    follows(
      output("stdout", "grüße\n"),
      output("stderr", "oh\n"),
      { event: "output", stream: "stdout", from: 8, to: 12, b64: bytes.toString("base64") },
      exit({ exitCode: 0 }),
      end,
    );
    const { child, ended } = startCli(["exec", "-n", "web", "--", "x"], { env: server.env, stdin: "ignore" });
    const chunks: Buffer[] = [];
    child.stdout
      ?.removeAllListeners("data")
      .on("data", (text: string) => chunks.push(Buffer.from(text, "latin1")));
    expect((await ended).stderr).toBe("oh\n");
    expect(Buffer.concat(chunks)).toEqual(Buffer.concat([Buffer.from("grüße\n"), bytes]));
  });

  it("why it did not run, on stderr", async () => {
    server.routes["GET /v1/processes/proc_1"] = json(
      proc({ status: "failed", detail: "there is no folder /nope" }),
    );
    follows(exit({ status: "failed", reason: "cwd_not_found" }), end);
    expect((await exec(["--", "x"])).stderr).toBe(
      "drover: proc_1 failed (cwd_not_found): there is no folder /nope\n",
    );
  });

  it("every byte once when the connection breaks in the middle", async () => {
    let connections = 0;
    server.routes["GET /v1/processes/proc_1/events"] = (response, asked) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      connections++;
      if (connections === 1) {
        response.write(
          `id: here\nevent: output\ndata: {"stream":"stdout","from":0,"to":2,"text":"a\\n"}\n\n`,
          () => response.destroy(),
        );
        return;
      }
      expect(asked.headers["last-event-id"]).toBe("here");
      response.end(sse(output("stdout", "b\n", 2)) + sse(exit({ exitCode: 4 })));
    };
    expect(await exec(["--", "x"])).toMatchObject({ code: 4, stdout: "a\nb\n" });
  });

  it("how much is missing, and never ends as if nothing were", async () => {
    follows(
      output("stdout", "a"),
      { event: "gap", stream: "stdout", from: 1, to: 9 },
      output("stdout", "b", 9),
      exit({ exitCode: 0 }),
      end,
    );
    expect(await exec(["--", "x"])).toMatchObject({
      code: 125,
      stdout: "ab",
      stderr: "drover: 8 bytes of output are not kept\n",
    });
  });

  it("that it ends when whoever reads its output has left, and stops the process", async () => {
    server.routes["POST /v1/processes/proc_1/stop"] = json(proc());
    server.routes["GET /v1/processes/proc_1/events"] = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = setInterval(() => response.write(sse(output("stdout", "y\n"))), 5);
      response.on("close", () => clearInterval(more));
    };
    const { child, ended } = startCli(["exec", "-n", "web", "--", "yes"], {
      env: server.env,
      stdin: "ignore",
    });
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect((await ended).code).toBe(141);
    await server.got("POST /v1/processes/proc_1/stop");
  });
});

describe("drover exec starts", () => {
  const body = async (): Promise<unknown> => (await server.got("POST /v1/processes")).body;

  it("words as argv, without a shell", async () => {
    follows(exit({ exitCode: 0 }), end);
    await exec(["--", "echo", "$HOME", "-n"]);
    expect(await body()).toMatchObject({
      node: "web",
      argv: ["echo", "$HOME", "-n"],
      output: "split",
      stdin: "none",
    });
  });

  it("a lone word that only a shell understands as shell text", async () => {
    follows(exit({ exitCode: 0 }), end);
    await exec(["--", "ls | wc -l"]);
    expect(await body()).toMatchObject({ command: "ls | wc -l" });
  });

  it("with its limits, folder and environment", async () => {
    follows(exit({ exitCode: 0 }), end);
    await exec(["--timeout", "1h30m", "--cwd", "/srv", "-e", "A=b=c", "-e", "HOME", "-c", "x"]);
    expect(await body()).toMatchObject({
      timeoutMs: 5_400_000,
      cwd: "/srv",
      env: { A: "b=c", HOME: expect.any(String) },
      command: "x",
    });
  });

  it("on the only node when none is named, and asks which when there are several", async () => {
    follows(exit({ exitCode: 0 }), end);
    server.routes["GET /v1/nodes"] = json({ data: [{ id: "node_9" }], nextCursor: null });
    await runCli(["exec", "--", "x"], { env: server.env, stdin: "ignore" });
    expect(await body()).toMatchObject({ node: "node_9" });
    server.routes["GET /v1/nodes"] = json({ data: [{ id: "node_8" }, { id: "node_9" }], nextCursor: null });
    expect(await runCli(["exec", "--", "x"], { env: server.env, stdin: "ignore" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("-n NODE"),
    });
  });
});

describe("drover exec passes its stdin on", () => {
  it("in order, also when the pipe takes a part only, and ends it once", async () => {
    const taken: Buffer[] = [];
    server.routes["POST /v1/processes/proc_1/stdin"] = (response, { body }) => {
      const { b64 = "", eof = false } = body as { b64?: string; eof?: boolean };
      const some = Buffer.from(b64, "base64").subarray(0, 40_000);
      taken.push(some);
      json({ writtenBytes: some.length })(response, { body } as never);
      if (eof) finish();
    };
    let finish = (): void => undefined;
    server.routes["GET /v1/processes/proc_1/events"] = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      finish = () => void response.end(sse(exit({ exitCode: 0 })));
    };
    const input = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
    expect((await exec(["--", "cat"], input)).code).toBe(0);
    expect(Buffer.concat(taken).equals(input)).toBe(true);
    expect((await server.got("POST /v1/processes")).body).toMatchObject({ stdin: "pipe" });
  });

  it("and ends with the process though nobody ends the input", async () => {
    follows(exit({ exitCode: 6 }), end);
    const { ended } = startCli(["exec", "-n", "web", "--", "x"], { env: server.env, stdin: "open" });
    expect((await ended).code).toBe(6);
  });

  it("and stops the process when the input cannot be passed on", async () => {
    server.routes["POST /v1/processes/proc_1/stop"] = json(proc());
    server.routes["POST /v1/processes/proc_1/stdin"] = problem(500, "internal", "a bug");
    server.routes["GET /v1/processes/proc_1/events"] = (response) => response.writeHead(200).flushHeaders();
    expect(await exec(["--", "cat"], "x")).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("could not be passed on: a bug"),
    });
    await server.got("POST /v1/processes/proc_1/stop");
  });
});

describe("Ctrl-C on drover exec", () => {
  it("is INT for the tree first, then a stop, then the end of exec alone", async () => {
    server.routes["POST /v1/processes/proc_1/signal"] = json(proc());
    server.routes["POST /v1/processes/proc_1/stop"] = json(proc());
    server.routes["GET /v1/processes/proc_1/events"] = (response) => response.writeHead(200).flushHeaders();
    const { child, ended } = startCli(["exec", "-n", "web", "--", "x"], { env: server.env, stdin: "ignore" });
    await server.got("GET /v1/processes/proc_1/events");
    child.kill("SIGINT");
    expect((await server.got("POST /v1/processes/proc_1/signal")).body).toEqual({ signal: "INT" });
    // A press within a quarter of a second is taken for the same one: npm passes each on once more.
    await pause(300);
    child.kill("SIGINT");
    await server.got("POST /v1/processes/proc_1/stop");
    await pause(300);
    child.kill("SIGINT");
    expect((await ended).signal).toBe("SIGINT");
  });

  it("takes a start back that has not arrived yet", async () => {
    server.routes["POST /v1/processes/proc_1/signal"] = problem(409, "process_not_running", "not yet");
    server.routes["GET /v1/processes/proc_1/events"] = (response) => {
      response.writeHead(200).flushHeaders();
      server.routes["POST /v1/processes/proc_1/stop"] = (stopped) => {
        json(proc({ status: "canceled" }))(stopped, {} as never);
        response.end(sse(exit({ status: "canceled" })));
      };
    };
    const { child, ended } = startCli(["exec", "-n", "web", "--", "x"], { env: server.env, stdin: "ignore" });
    await server.got("GET /v1/processes/proc_1/events");
    child.kill("SIGINT");
    expect((await ended).code).toBe(125);
  });

  it("TERM stops the process at once", async () => {
    server.routes["GET /v1/processes/proc_1/events"] = (response) => {
      response.writeHead(200).flushHeaders();
      server.routes["POST /v1/processes/proc_1/stop"] = (stopped) => {
        json(proc())(stopped, {} as never);
        response.end(sse(exit({ status: "killed", signal: "TERM", reason: "stopped" })));
      };
    };
    const { child, ended } = startCli(["exec", "-n", "web", "--", "x"], { env: server.env, stdin: "ignore" });
    await server.got("GET /v1/processes/proc_1/events");
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
  });
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
