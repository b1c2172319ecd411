import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { json, problem, ScriptedServer } from "./scripted-server.ts";

const view = { policy: { readOnly: true }, updatedAt: null, rules: ["power"] };
const refused = { allowed: false, rule: "power", reason: "The command would stop it.", advice: "Ask." };

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());
const cli = (words: string[], input?: string) =>
  runCli(["policy", ...words], {
    env: server.env,
    ...(input === undefined ? { stdin: "ignore" } : { input }),
  });

describe("drover policy", () => {
  it("shows the policy as set takes it, and with -o json all there is to know", async () => {
    server.routes = { "GET /v1/policy": json(view) };
    for (const words of [[], ["show"]]) expect(JSON.parse((await cli(words)).stdout)).toEqual(view.policy);
    expect(JSON.parse((await cli(["show", "-o", "json"])).stdout)).toEqual(view);
  });

  it("sets the whole policy out of stdin", async () => {
    server.routes = { "PUT /v1/policy": json(view) };
    expect((await cli(["set", "-"], '{"readOnly":true}')).code).toBe(0);
    expect(server.asked[0]?.body).toEqual({ readOnly: true });
  });

  it("sends nothing that is no JSON, and says what the control plane finds wrong", async () => {
    expect(await cli(["set", "-"], "{")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/stdin: .*JSON/),
    });
    expect(await cli(["set", "/no/such/file"])).toMatchObject({ code: 2 });
    expect(server.asked).toEqual([]);
    server.routes = { "PUT /v1/policy": problem(400, "invalid_request", "readonly: unknown field") };
    expect(await cli(["set", "-"], "{}")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown field"),
    });
  });

  it("tries a command, and tells by its exit code", async () => {
    server.routes = { "POST /v1/policy/try": json({ allowed: true }) };
    expect(await cli(["try", "--cwd", "/srv", "--", "ls", "-l"])).toMatchObject({
      code: 0,
      stdout: "allowed\n",
    });
    expect(server.asked[0]?.body).toEqual({ argv: ["ls", "-l"], cwd: "/srv" });
    server.routes = { "POST /v1/policy/try": json(refused) };
    expect(await cli(["try", "-c", "reboot", "--policy", "-"], '{"users":["bob"]}')).toMatchObject({
      code: 125,
      stdout: "refused (power): The command would stop it.\n",
    });
    expect(server.asked[1]?.body).toEqual({ command: "reboot", policy: { users: ["bob"] } });
  });
});
