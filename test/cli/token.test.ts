import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { json, ScriptedServer } from "./scripted-server.ts";

const view = {
  id: "tok_1",
  name: "ci",
  role: "operator",
  scope: { selector: "env=ci" },
  createdBy: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  expiresAt: "2026-01-02T00:00:00.000Z",
  lastUsedAt: null,
};

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());
const cli = (...words: string[]) => runCli(["token", ...words], { env: server.env });

describe("drover token", () => {
  it("creates a token and prints nothing but it", async () => {
    server.routes = { "POST /v1/tokens": json({ ...view, token: "drvt_x" }, 201) };
    const made = await cli("create", "ci", "--role", "operator", "-l", "env=ci", "--ttl", "1d");
    expect(made).toMatchObject({ code: 0, stdout: "drvt_x\n" });
    expect(server.asked[0]?.body).toMatchObject({
      name: "ci",
      role: "operator",
      scope: { selector: "env=ci" },
      expiresAt: expect.stringMatching(/Z$/) as string,
    });
    await cli(
      "create",
      "chat",
      "--role",
      "viewer",
      "--chat",
      "chat_1",
      "--task",
      "task_1",
      "--task",
      "task_2",
    );
    expect(server.asked[1]?.body).toEqual({
      name: "chat",
      role: "viewer",
      scope: { chatId: "chat_1", tasks: ["task_1", "task_2"] },
    });
  });

  it("asks for a role that there is, before anything is sent", async () => {
    expect(await cli("create", "ci")).toMatchObject({ code: 2 });
    expect(await cli("create", "ci", "--role", "god")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("viewer, operator, admin") as string,
    });
    expect(server.asked).toEqual([]);
  });

  it("lists tokens with what they are for and how long", async () => {
    const data = [view, { ...view, id: "tok_2", scope: {}, expiresAt: null }];
    server.routes = { "GET /v1/tokens": json({ data, nextCursor: null }) };
    for (const words of [[], ["ls"]]) {
      const { stdout } = await cli(...words);
      expect(stdout).toMatch(/ci +operator +- +expired +tok_1 +env=ci/);
      expect(stdout).toMatch(/ci +operator +- +never +tok_2 +everything/);
    }
    expect(JSON.parse((await cli("ls", "-o", "json")).stdout)).toEqual(data);
  });

  it("revokes several", async () => {
    server.routes = {
      "DELETE /v1/tokens/tok_1": (response) => void response.writeHead(204).end(),
      "DELETE /v1/tokens/tok_2": (response) => void response.writeHead(204).end(),
    };
    expect(await cli("rm", "tok_1", "tok_2")).toMatchObject({
      code: 0,
      stdout: "tok_1 revoked\ntok_2 revoked\n",
    });
  });
});
