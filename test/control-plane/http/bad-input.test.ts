import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { inserted } from "../../contract/store-samples.ts";
import { openService, type Service } from "./service.ts";

const id = newId("proc");
const tooLong = "x".repeat(1024 * 1024 + 1);
const start = (change: object): [string, string, object] => [
  "POST",
  "/v1/processes",
  { node: "n", command: "true", ...change },
];

type Case = [title: string, field: string, request: [method: string, path: string, body?: object]];

const cases: Case[] = [
  ["an empty command", "command", start({ command: "" })],
  ["a blank command", "command", start({ command: " \n\t" })],
  ["a command with NUL", "command", start({ command: "a\0b" })],
  ["a command that is too long", "command", start({ command: tooLong })],
  ["a command that is no text", "command", start({ command: 5 })],
  ["a lone surrogate", "command", start({ command: "\ud800" })],
  ["command and argv at once", "command", start({ argv: ["true"] })],
  ["neither command nor argv", "command", ["POST", "/v1/processes", { node: "n" }]],
  ["an empty program", "argv", ["POST", "/v1/processes", { node: "n", argv: [""] }]],
  [
    "an argument of 128 KiB",
    "argv[1]",
    ["POST", "/v1/processes", { node: "n", argv: ["echo", "x".repeat(131_072)] }],
  ],
  ["neither node nor chat", "node", ["POST", "/v1/processes", { command: "true" }]],
  ["a relative cwd", "cwd", start({ cwd: "here" })],
  ["an env name that starts with a digit", "env.1A", start({ env: { "1A": "x" } })],
  ["an env name that Drover sets", "env.DROVER_NODE", start({ env: { DROVER_NODE: "x" } })],
  ["an env value that is no text", "env.A", start({ env: { A: 1 } })],
  ["an env entry of 128 KiB", "env", start({ env: { A: "x".repeat(131_072) } })],
  ["timeoutMs 0", "timeoutMs", start({ timeoutMs: 0 })],
  ["a negative timeoutMs", "timeoutMs", start({ timeoutMs: -1 })],
  ["a fractional timeoutMs", "timeoutMs", start({ timeoutMs: 1.5 })],
  ["a timeoutMs of over ten years", "timeoutMs", start({ timeoutMs: 315_360_000_001 })],
  ["idleTimeoutMs as text", "idleTimeoutMs", start({ idleTimeoutMs: "5" })],
  ["a grace of over ten minutes", "graceMs", start({ graceMs: 600_001 })],
  ["an unknown stdin", "stdin", start({ stdin: "file" })],
  ["logBytes below 64 KiB", "limits.logBytes", start({ limits: { logBytes: 1 } })],
  ["an unknown field", "foo", start({ foo: 1 })],
  ["an unknown field further in", "limits.cpus", start({ limits: { cpus: 1 } })],
  ["a label name with a space", "labels.a b", start({ labels: { "a b": "x" } })],
  ["a body that is a list", "body", ["POST", "/v1/processes", []]],
  [
    "waitMs that is no number",
    "waitMs",
    ["POST", "/v1/processes?waitMs=abc", { node: "n", command: "true" }],
  ],
  ["a negative waitMs", "waitMs", ["GET", `/v1/processes/${id}?waitMs=-1`]],
  ["an unknown parameter", "wait", ["GET", `/v1/processes/${id}?wait=1`]],
  ["a limit of 0", "limit", ["GET", "/v1/processes?limit=0"]],
  ["a limit of over 200", "limit", ["GET", "/v1/nodes?limit=201"]],
  ["a cursor of another list", "cursor", ["GET", `/v1/nodes?cursor=${id}`]],
  ["an unknown status", "status", ["GET", "/v1/processes?status=running,dead"]],
  ["a label filter without =", "label", ["GET", "/v1/processes?label=a"]],
  ["an unknown node status", "status", ["GET", "/v1/nodes?status=gone"]],
  ["a selector that cannot be read", "selector", ["GET", "/v1/nodes?selector=a=b,,"]],
  ["an unknown view", "view", ["GET", `/v1/processes/${id}/output?view=middle`]],
  ["a range that ends before it begins", "to", ["GET", `/v1/processes/${id}/output?from=5&to=4`]],
  ["from with another view", "from", ["GET", `/v1/processes/${id}/output?view=tail&from=5`]],
  ["an empty pattern", "grep", ["GET", `/v1/processes/${id}/output?grep=`]],
  ["an event id that is none", "from", ["GET", `/v1/processes/${id}/events?from=e9`]],
  ["an unknown signal", "signal", ["POST", `/v1/processes/${id}/signal`, { signal: "FOO" }]],
  ["no signal", "signal", ["POST", `/v1/processes/${id}/signal`, {}]],
  ["an unknown scope", "scope", ["POST", `/v1/processes/${id}/signal`, { signal: "TERM", scope: "all" }]],
  ["a grace that is no number", "graceMs", ["POST", `/v1/processes/${id}/stop`, { graceMs: "5" }]],
  ["text and b64 at once", "text", ["POST", `/v1/processes/${id}/stdin`, { text: "a", b64: "YQ==" }]],
  ["b64 that is none", "b64", ["POST", `/v1/processes/${id}/stdin`, { b64: "!" }]],
  ["no text, no bytes and no end", "text", ["POST", `/v1/processes/${id}/stdin`, {}]],
  ["no new limit", "timeoutMs", ["POST", `/v1/processes/${id}/extend`, {}]],
  ["nothing to wait for", "for", ["POST", `/v1/processes/${id}/wait`, { for: [] }]],
  [
    "a pattern to wait for without pattern",
    "pattern",
    ["POST", `/v1/processes/${id}/wait`, { for: ["pattern"] }],
  ],
  [
    "a port to wait for without port",
    "port",
    ["POST", `/v1/processes/${id}/wait`, { for: ["exit", "port"] }],
  ],
  [
    "a quiet to wait for without quietMs",
    "quietMs",
    ["POST", `/v1/processes/${id}/wait`, { for: ["quiet"] }],
  ],
  ["a key to cancel without a node", "node", ["POST", "/v1/processes/cancel", { key: "k" }]],
  ["a token that is used 0 times", "maxUses", ["POST", "/v1/join-tokens", { maxUses: 0 }]],
  ["a token for a name with a space", "nodeName", ["POST", "/v1/join-tokens", { nodeName: "a b" }]],
  ["a key hash that is none", "keyHash", ["POST", "/v1/enroll", { joinToken: "t", name: "n", keyHash: "x" }]],
  ["a drain without a reason", "reason", ["POST", "/v1/nodes/n/drain", {}]],
  ["a drain for a blank reason", "reason", ["POST", "/v1/nodes/n/drain", { reason: " " }]],
  ["a reason with NUL", "reason", ["POST", "/v1/nodes/n/drain", { reason: "a\0" }]],
  ["a reason that is too long", "reason", ["POST", "/v1/nodes/n/drain", { reason: "x".repeat(1001) }]],
  ["a negative deadline", "deadlineMs", ["POST", "/v1/nodes/n/drain", { reason: "r", deadlineMs: -1 }]],
  ["a deadline as text", "deadlineMs", ["POST", "/v1/nodes/n/drain", { reason: "r", deadlineMs: "1m" }]],
  [
    "a deadline of over ten years",
    "deadlineMs",
    ["POST", "/v1/nodes/n/drain", { reason: "r", deadlineMs: 315_360_000_001 }],
  ],
  ["an unknown field of a drain", "force", ["POST", "/v1/nodes/n/drain", { reason: "r", force: true }]],
  ["a lease without a reason", "reason", ["POST", "/v1/nodes/n/lease", { ttlMs: 1 }]],
  ["a lease without an end", "ttlMs", ["POST", "/v1/nodes/n/lease", { reason: "r" }]],
  ["a lease of no time", "ttlMs", ["POST", "/v1/nodes/n/lease", { reason: "r", ttlMs: 0 }]],
  ["a lease of over 30 days", "ttlMs", ["POST", "/v1/nodes/n/lease", { reason: "r", ttlMs: 2_592_000_001 }]],
  ["a node name like an id", "name", ["PATCH", "/v1/nodes/n", { name: "node_x" }]],
];

describe("bad input", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  it.each(cases)("%s is 400 and names %s", async (_title, field, [method, path, body]) => {
    const answer = await service.send(method, path, body);
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    const issues = answer.body["issues"] as { path: string; message: string }[];
    expect(issues.map((issue) => issue.path)).toContain(field);
    expect(JSON.stringify(answer.body).length).toBeLessThan(3000);
  });

  it("never comes back in the answer", async () => {
    const secret = "hunter2-hunter2";
    const answer = await service.post("/v1/processes", {
      node: "n",
      command: "true",
      env: { A: `${secret}\0` },
      stdin: { text: `${secret}\0` },
      timeoutMs: secret,
    });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
  });

  it.each([["pty", { pty: { cols: 80, rows: 24 } }]])(
    "%s, which is not built yet, is 422 and named, never ignored",
    async (field, change) => {
      const answer = await service.send(...start(change));
      expect(answer).toMatchObject({ status: 422, body: { code: "not_supported", field } });
    },
  );

  it("a chat, and routes of the contract that are not built yet, are 422", async () => {
    expect(await service.post("/v1/processes", { chatId: "chat_x", command: "true" })).toMatchObject({
      status: 422,
      body: { field: "chatId" },
    });
    const { id: there } = await inserted(service.needs.store, { status: "queued" });
    expect(await service.post(`/v1/processes/${there}/resize`, {})).toMatchObject({
      status: 422,
      body: { code: "not_supported" },
    });
    await service.post(`/v1/processes/${there}/stop`);
    expect((await service.send("DELETE", `/v1/processes/${there}`)).status).toBe(204);
  });

  it("a refused command is 422 with rule and reason before its node is looked for, and nothing is stored", async () => {
    const refused = {
      status: 422,
      body: { code: "command_refused", rule: expect.any(String), reason: expect.any(String) },
    };
    expect(await service.send(...start({ command: "rm -rf /" }))).toMatchObject(refused);
    expect(await service.post("/v1/processes", { node: "n", argv: ["rm", "-rf", "/"] })).toMatchObject(
      refused,
    );
    expect((await service.get("/v1/processes")).body["data"]).toEqual([]);
  });

  it("waitMs above its bound is clamped, not refused", async () => {
    expect(await service.get(`/v1/processes/${id}?waitMs=99999999`)).toMatchObject({ status: 404 });
  });

  it("an id of another shape is 404 on every route of a process", async () => {
    for (const path of ["", "/output", "/events", "/ports"])
      expect(await service.get(`/v1/processes/..%2f${path}`)).toMatchObject({ status: 404 });
  });
});
