import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { json, problem, ScriptedServer } from "./scripted-server.ts";

const at = "2026-01-02T03:04:05.000Z";
const view = { name: "token", createdAt: at, updatedAt: at };

let server: ScriptedServer;
beforeEach(async () => {
  server = new ScriptedServer();
  await server.start();
});
afterEach(() => server.close());
const cli = (words: string[], input?: string) =>
  runCli(words, { env: server.env, ...(input === undefined ? { stdin: "ignore" } : { input }) });

describe("drover secrets", () => {
  it("sets a value out of stdin or a file, without its last line break, and never shows it", async () => {
    server.routes = { "POST /v1/secrets": json(view) };
    const folder = mkdtempSync(join(tmpdir(), "drover-secret-"));
    const file = join(folder, "key.pem");
    writeFileSync(file, "first line\nsecond line\r\n");
    const told = [
      await cli(["secrets", "set", "token"], "correct-horse\n"),
      await cli(["secrets", "set", "token", "-"], "correct-horse"),
      await cli(["secrets", "set", "token", file]),
    ];
    rmSync(folder, { recursive: true });
    expect(told).toMatchObject([0, 1, 2].map(() => ({ code: 0, stdout: "token: stored\n", stderr: "" })));
    expect(server.asked.map(({ body }) => body)).toEqual([
      { name: "token", value: "correct-horse" },
      { name: "token", value: "correct-horse" },
      { name: "token", value: "first line\nsecond line" },
    ]);
  });

  it("takes no value as a word, and says what the control plane finds wrong", async () => {
    expect(await cli(["secrets", "set", "token", "-", "correct-horse"])).toMatchObject({ code: 2 });
    expect(await cli(["secrets", "set", "token", "/no/such/file"])).toMatchObject({ code: 2 });
    expect(server.asked).toEqual([]);
    server.routes = {
      "POST /v1/secrets": problem(400, "invalid_request", "value: must have at least 8 bytes"),
    };
    expect(await cli(["secrets", "set", "token"], "short")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("at least 8 bytes"),
    });
  });

  it("lists names and times, and deletes", async () => {
    server.routes = {
      "GET /v1/secrets": json({ data: [view], nextCursor: null }),
      "DELETE /v1/secrets/token": json({}),
      "DELETE /v1/secrets/other": problem(404, "not_found", "there is no secret of this name"),
    };
    expect((await cli(["secrets"])).stdout).toMatch(/^NAME +SET +AGE\ntoken +\d+d +\d+d\n$/);
    expect(JSON.parse((await cli(["secrets", "ls", "-o", "json"])).stdout)).toEqual([view]);
    const removed = await cli(["secrets", "rm", "token", "other"]);
    expect(removed).toMatchObject({
      stdout: "token deleted\n",
      stderr: expect.stringContaining("no secret"),
    });
    expect(removed.code).not.toBe(0);
  });

  it("seals everything anew, batch by batch, and fails when something cannot be opened", async () => {
    const batches = [
      { keyId: "0a0b0c0d", resealed: 2, unreadable: [], nextCursor: "secrets/" },
      {
        ...{ keyId: "0a0b0c0d", resealed: 1, nextCursor: null },
        unreadable: [{ kind: "secret", id: "old", keyId: "01020304" }],
      },
    ];
    server.routes = {
      "POST /v1/secret-key/reseal": (response, asked) =>
        json(batches[server.asked.length - 1])(response, asked),
    };
    expect(await cli(["secrets", "reseal"])).toMatchObject({
      code: 1,
      stdout: "3 sealed anew; the rest is sealed with the key 0a0b0c0d\n",
      stderr: expect.stringContaining("secret old: cannot be opened, its key 01020304 is not set"),
    });
    expect(server.asked.map(({ body }) => body)).toEqual([{}, { cursor: "secrets/" }]);
  });

  it("are named in the environment of what is started", async () => {
    server.routes = {
      "POST /v1/processes": problem(422, "secret_not_found", "env.A: there is no secret named b"),
    };
    const refused = await cli(["run", "-n", "n1", "--secret", "A=b", "-e", "C=d", "--", "true"]);
    expect(refused).toMatchObject({ stderr: expect.stringContaining("no secret named b") });
    expect(server.asked[0]?.body).toMatchObject({ env: { A: { secret: "b" }, C: "d" } });
  });
});
