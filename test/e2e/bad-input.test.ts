import { describe, expect, it } from "vitest";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "gone"] });
const mebibyte = 1024 * 1024;

const refused = (body: unknown) => product.api.api("POST /v1/processes", { body });
const ok = { node: "n1", command: "true" };

describe("a start that is wrong", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["an empty command", { command: "" }, "command"],
    ["a blank command", { command: " \t\n " }, "command"],
    ["a command over 1 MiB", { command: `:${" ".repeat(mebibyte)}` }, "command"],
    ["a command with NUL", { command: "echo \0" }, "command"],
    ["a command that is a number", { command: 1 }, "command"],
    ["a command that is a list", { command: ["true"] }, "command"],
    ["command and argv", { argv: ["true"] }, "command"],
    ["neither command nor argv", { command: undefined }, "command"],
    ["an empty argv", { command: undefined, argv: [] }, "argv"],
    ["an argv without a program", { command: undefined, argv: [""] }, "argv"],
    ["an argv item with NUL", { command: undefined, argv: ["echo", "\0"] }, "argv[1]"],
    ["an argv item of 128 KiB", { command: undefined, argv: ["echo", "x".repeat(128 * 1024)] }, "argv[1]"],
    ["no node", { node: undefined }, "node"],
    ["an unknown field", { colour: "red" }, "colour"],
    ["an unknown field inside", { limits: { mem: 1 } }, "limits.mem"],
    ["an env name with =", { env: { "A=B": "x" } }, "env.A=B"],
    ["an env name that is empty", { env: { "": "x" } }, "env."],
    ["an env name that begins with a digit", { env: { "1A": "x" } }, "env.1A"],
    ["an env value with NUL", { env: { A: "\0" } }, "env.A"],
    ["an env value that is a number", { env: { A: 1 } }, "env.A"],
    ["an env entry of 128 KiB", { env: { A: "x".repeat(128 * 1024) } }, "env"],
    ["DROVER_PROCESS_ID in env", { env: { DROVER_PROCESS_ID: "x" } }, "env.DROVER_PROCESS_ID"],
    ["DROVER_CHAT_ID in env", { env: { DROVER_CHAT_ID: "x" } }, "env.DROVER_CHAT_ID"],
    ["DROVER_NODE in env", { env: { DROVER_NODE: "x" } }, "env.DROVER_NODE"],
    ["a relative folder", { cwd: "tmp" }, "cwd"],
    ["a time limit of 0", { timeoutMs: 0 }, "timeoutMs"],
    ["a negative time limit", { timeoutMs: -1 }, "timeoutMs"],
    ["a fractional time limit", { timeoutMs: 1.5 }, "timeoutMs"],
    ["a time limit that is a text", { timeoutMs: "5s" }, "timeoutMs"],
    ["a time limit over 10 years", { timeoutMs: 10 * 366 * 24 * 3600 * 1000 }, "timeoutMs"],
    ["an idle limit of 0", { idleTimeoutMs: 0 }, "idleTimeoutMs"],
    ["a fractional idle limit", { idleTimeoutMs: 0.5 }, "idleTimeoutMs"],
    ["a negative grace", { graceMs: -1 }, "graceMs"],
    ["a grace over 10 minutes", { graceMs: 600_001 }, "graceMs"],
    ["an unknown kind of stdin", { stdin: "file" }, "stdin"],
    ["a stdin text over 1 MiB", { stdin: { text: "x".repeat(mebibyte + 1) } }, "stdin"],
    ["an unknown kind of output", { output: "both" }, "output"],
    ["a bound of the log below 64 KiB", { limits: { logBytes: 1 } }, "limits.logBytes"],
    ["a nice of 20", { nice: 20 }, "nice"],
    ["an empty key", { key: "" }, "key"],
    ["a label name with a space", { labels: { "a b": "x" } }, "labels.a b"],
  ])("is refused by the name of its field: %s", async (_what, change, path) => {
    const { status, value, headers } = await refused({ ...ok, ...change });
    expect({ status, code: value.code }).toEqual({ status: 400, code: "invalid_request" });
    expect(headers.get("content-type")).toContain("application/problem+json");
    expect(value.issues?.map((issue) => issue.path)).toContainEqual(expect.stringContaining(path));
    expect(value.detail).not.toBe("");
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["chatId", { node: undefined, chatId: "chat_x" }, "chatId"],
    ["pty", { pty: { cols: 80, rows: 24 } }, "pty"],
    ["limits.cpuPct", { limits: { cpuPct: 50 } }, "cpuPct"],
    ["limits.pids", { limits: { pids: 10 } }, "pids"],
  ])("is refused as not supported rather than ignored: %s", async (_what, change, named) => {
    const { status, value } = await refused({ ...ok, ...change });
    expect({ status, code: value.code }).toEqual({ status: 422, code: "not_supported" });
    expect(value.detail).toContain(named);
  });

  it.each([
    "rm -rf /",
    "rm -r -f /",
    "cd /tmp; sudo rm --recursive --force /*",
    "mkfs.ext4 /dev/sda1",
    "dd if=/dev/zero of=/dev/sda",
    ":(){ :|:& };:",
    "shutdown -h now",
    "systemctl reboot",
    "chmod -R 777 /",
  ])("is refused by the guard: %s", async (command) => {
    const before = await product.api.get<{ data: { id: string }[] }>("GET /v1/processes", {
      query: { limit: 1 },
    });
    const { status, value } = await refused({ node: "n1", command });
    expect({ status, code: value.code }).toEqual({ status: 422, code: "command_refused" });
    expect(value).toMatchObject({ rule: expect.any(String), reason: expect.any(String) });
    expect(await product.api.get("GET /v1/processes", { query: { limit: 1 } })).toMatchObject({
      data: before.data,
    });
  });

  it("is not refused by the guard for a harmless look", async () => {
    const command =
      "echo 'rm -rf /'; grep -c reboot /dev/null; dd if=/dev/null of=/dev/null 2>/dev/null; rm -rf ./no-such-folder";
    expect((await product.api.exec({ node: "n1", command })).status).toBe("exited");
  });

  it("is refused as a body: broken JSON, no JSON, too large, not UTF-8, another type", async () => {
    const post = (text: string, headers: Record<string, string> = {}) =>
      product.api.api("POST /v1/processes", { text, headers });
    expect(await post("{")).toMatchObject({ status: 400, value: { code: "invalid_request" } });
    expect(await post("")).toMatchObject({ status: 400, value: { code: "invalid_request" } });
    expect(await post("[]")).toMatchObject({ status: 400, value: { code: "invalid_request" } });
    expect(await post("null")).toMatchObject({ status: 400, value: { code: "invalid_request" } });
    expect(await post(JSON.stringify({ ...ok, labels: { a: "x".repeat(9 * mebibyte) } }))).toMatchObject({
      status: 413,
      value: { code: "payload_too_large" },
    });
    expect(await post(JSON.stringify(ok), { "content-type": "text/plain" })).toMatchObject({
      status: 415,
      value: { code: "unsupported_media_type" },
    });
  });

  it("is refused without the right token before anything is looked at", async () => {
    for (const token of [null, "wrong", `${product.token}x`])
      expect(await product.api.api("POST /v1/processes", { text: "{", token })).toMatchObject({
        status: 401,
        value: { code: "unauthorized" },
      });
  });

  it("is refused for a node that is unknown or offline", async () => {
    expect(await refused({ ...ok, node: "nowhere" })).toMatchObject({
      status: 404,
      value: { code: "not_found" },
    });
    await product.agents.get("gone")?.stop();
    await product.status("gone", "offline");
    expect(await refused({ ...ok, node: "gone" })).toMatchObject({
      status: 503,
      value: { code: "node_offline" },
    });
  });
});

describe("a request about a process that is wrong", () => {
  it("is 404 for one that is unknown, whatever its form", async () => {
    for (const id of [
      "proc_00000000000000000000000000",
      "x",
      "..%2f",
      "proc_%00",
      "node_01m8p1ch4ffk2vgb5hry4x9tf8",
    ])
      for (const call of [
        `GET /v1/processes/${id}`,
        `GET /v1/processes/${id}/output`,
        `GET /v1/processes/${id}/events`,
        `DELETE /v1/processes/${id}`,
      ])
        expect(await product.api.api(call)).toMatchObject({
          status: 404,
          value: { code: "not_found" },
        });
  });

  it("is refused by the name of its field", async () => {
    const { id } = await product.api.start({ node: "n1", command: "sleep 600" });
    const cases: [string, Record<string, unknown>, string][] = [
      ["signal", { signal: "NOPE" }, "signal"],
      ["signal", { signal: "" }, "signal"],
      ["signal", { signal: 9 }, "signal"],
      ["signal", {}, "signal"],
      ["signal", { signal: "TERM", scope: "all" }, "scope"],
      ["stop", { graceMs: 0.5 }, "graceMs"],
      ["extend", { timeoutMs: 0 }, "timeoutMs"],
      ["wait", { for: [] }, "for"],
      ["wait", { for: ["pattern"] }, "pattern"],
      ["wait", { for: ["port"], port: 0 }, "port"],
      ["stdin", {}, "text"],
      ["stdin", { b64: "%" }, "b64"],
    ];
    for (const [verb, body, path] of cases) {
      const { status, value } = await product.api.api(`POST /v1/processes/${id}/${verb}`, { body });
      expect({ verb, status, code: value.code }).toEqual({ verb, status: 400, code: "invalid_request" });
      expect(value.issues?.map((issue) => issue.path)).toContainEqual(expect.stringContaining(path));
    }
    for (const query of [
      "view=middle",
      "headBytes=-1",
      "from=x",
      "stream=stdout",
      "grep=",
      "ansi=no",
      "colour=red",
      "from=5&to=2",
    ]) {
      const { status, value } = await product.api.api(`GET /v1/processes/${id}/output?${query}`);
      expect({ query, status, code: value.code }).toEqual({ query, status: 400, code: "invalid_request" });
    }
    for (const query of ["from=x", "from=999999", "from=e1-running-99999-0-0", "from=-1"])
      expect({
        query,
        status: (await product.api.api(`GET /v1/processes/${id}/events?${query}`)).status,
      }).toEqual({ query, status: 400 });
    await product.api.stop(id);
  });

  it("is a conflict where nothing runs any more, and no error for a stop", async () => {
    const { id } = await product.api.exec({ node: "n1", command: "exit 3" });
    for (const [verb, body] of [
      ["signal", { signal: "TERM" }],
      ["stdin", { text: "x" }],
      ["extend", { timeoutMs: 1000 }],
    ] as const)
      expect(await product.api.api(`POST /v1/processes/${id}/${verb}`, { body })).toMatchObject({
        status: 409,
        value: { code: "process_not_running" },
      });
    expect(await product.api.api(`POST /v1/processes/${id}/stop`, { body: {} })).toMatchObject({
      status: 200,
      value: { status: "exited", exitCode: 3 },
    });
  });

  it("says with 405 what is allowed, and with 422 what is not built", async () => {
    const wrong = await product.api.api("PUT /v1/processes", { body: {} });
    expect(wrong).toMatchObject({ status: 405, value: { code: "method_not_allowed" } });
    expect(wrong.headers.get("allow")).toContain("POST");
    const { id } = await product.api.exec(ok);
    expect(await product.api.api(`POST /v1/processes/${id}/resize`)).toMatchObject({
      status: 422,
      value: { code: "not_supported" },
    });
  });
});
