import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { json, ScriptedServer } from "./scripted-server.ts";

const start = {
  id: "aud_1",
  at: "2026-01-01T00:00:00.000Z",
  actor: { kind: "token", id: "tok_1", name: "ci" },
  address: "192.0.2.1",
  operation: "startProcess",
  object: { kind: "process", id: "proc_1" },
  node: { id: "node_1", name: "web-1" },
  input: { node: "web-1", argv: ["echo", "a b"] },
  status: 201,
  code: null,
  requestId: "req_1",
};
const refused = {
  ...{ ...start, id: "aud_2", operation: "drainNode", object: { kind: "node", id: null }, node: null },
  ...{ address: null, input: { reason: "disk" }, status: 403, code: "forbidden" },
};

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());
const cli = (...words: string[]) => runCli(["audit", ...words], { env: server.env });

describe("drover audit", () => {
  it("shows who did what from where on which node, and what came of it", async () => {
    server.routes = { "GET /v1/audit": json({ data: [start, refused], nextCursor: null }) };
    const { code, stdout } = await cli();
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /2026-01-01T00:00:00.000Z +ci +192.0.2.1 +startProcess +201 +web-1 +proc_1 +echo 'a b'/,
    );
    expect(stdout).toMatch(/ci +- +drainNode +forbidden +- +node +\{"reason":"disk"\}/);
    expect(JSON.parse((await cli("-o", "json")).stdout)).toEqual([start, refused]);
  });

  it("asks for what its options say", async () => {
    server.routes = { "GET /v1/audit": json({ data: [], nextCursor: null }) };
    await cli(
      ...["--actor", "ci", "--operation", "leaseNode", "--object", "node_1", "-n", "web-1"],
      ...["--result", "refused", "--since", "2026-01-01", "--until", "1h", "--limit", "7"],
    );
    const query = Object.fromEntries(server.asked[0]?.query ?? []);
    expect(query).toMatchObject({
      ...{ actor: "ci", operation: "leaseNode", object: "node_1", node: "web-1", result: "refused" },
      ...{ from: "2026-01-01T00:00:00.000Z", limit: "7" },
    });
    const agoMs = Date.now() - Date.parse(query["to"] ?? "");
    expect(Math.round(agoMs / 60_000)).toBe(60);
    expect(await cli("--since", "yesterday")).toMatchObject({ code: 2 });
  });

  it("exports lines as they come, and fails when they break off", async () => {
    const lines = `${JSON.stringify(start)}\n${JSON.stringify(refused)}\n`;
    server.routes = { "GET /v1/audit": (response) => void response.end(lines) };
    expect(await cli("--export")).toMatchObject({ code: 0, stdout: lines });
    expect(server.asked[0]?.query.get("format")).toBe("ndjson");
    server.routes = {
      "GET /v1/audit": (response) => void response.write(lines, () => response.destroy()),
    };
    expect(await cli("--export")).toMatchObject({
      code: 125,
      stderr: expect.stringContaining("not whole") as string,
    });
  });
});
