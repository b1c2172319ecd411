import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { json, ScriptedServer } from "./scripted-server.ts";

const link = { code: "drvc_x", url: "http://x/#code=drvc_x", expiresAt: "2026-01-01T00:00:00.000Z" };

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());

describe("drover login", () => {
  it("prints a link that signs a browser in, and nothing but it", async () => {
    server.routes = { "POST /v1/session-codes": json(link, 201) };
    const made = await runCli(["login", "--link"], { env: server.env });
    expect(made).toMatchObject({ code: 0, stdout: `${link.url}\n` });
    expect(server.asked[0]?.headers.authorization).toBe("Bearer secret");
    const asJson = await runCli(["login", "--link", "-o", "json"], { env: server.env });
    expect(JSON.parse(asJson.stdout)).toEqual(link);
  });

  it("says what to give where nothing is asked for", async () => {
    const bare = await runCli(["login"], { env: server.env });
    expect(bare).toMatchObject({ code: 2, stderr: expect.stringContaining("--link") as string });
  });
});
