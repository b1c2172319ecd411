// What the control plane on Deno has of its own: what it has to be allowed, how it is ended, the Postgres it brings. What it
// owes its users is in test/conformance.
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Api } from "../support/api.ts";
import { Daemon } from "../support/daemon.ts";
import { denoControlPlane, denoEnv, denoTask } from "../support/deno.ts";
import { temporaryFolder } from "../support/eventually.ts";
import { testDatabase, type TestDatabase } from "../support/postgres.ts";
import { endAllOf } from "../support/sweep.ts";

let folder: string;
let database: TestDatabase;
let started: Daemon[];

beforeEach(async () => {
  folder = temporaryFolder();
  // As root, Postgres runs as another user, who must be able to pass.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "home"));
  database = await testDatabase();
  started = [];
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(started.map(({ log }) => log).join("\n---\n"));
  for (const daemon of started) daemon.kill("SIGKILL");
  await endAllOf(folder);
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const token = "drva_deno_test_token_0123456789";
const dataDir = () => join(folder, "data dir");
const own = (): Record<string, string> => ({
  ...denoEnv,
  PATH: process.env["PATH"] ?? "",
  HOME: join(folder, "home"),
  DROVER_DATA_DIR: dataDir(),
  DROVER_PORT: "0",
});
const secrets = { DROVER_ADMIN_TOKEN: token, DROVER_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
const onDatabase = () => ({ DATABASE_URL: database.url, ...secrets });

const run = (words: string[], env: Record<string, string>, program?: string[]): Daemon => {
  const daemon = new Daemon(words, { env: { ...own(), ...env }, ...(program && { program }) });
  started.push(daemon);
  return daemon;
};
const deno = (env: Record<string, string>, permissions?: string[]): Daemon =>
  run([], env, denoControlPlane(permissions));
const listening = async (daemon: Daemon): Promise<string> => {
  await daemon.seen("Drover listens on ");
  return /Drover listens on (http:\S+)/.exec(daemon.log)?.[1] ?? "";
};

async function agentOf(api: Api): Promise<Daemon> {
  const { token: joinToken } = await api.get<{ token: string }>("POST /v1/join-tokens", { body: {} });
  const words = ["agent", "--url", api.url, "--name", "n1", "--data-dir", join(folder, "agent")];
  const agent = run(words, { DROVER_JOIN_TOKEN: joinToken });
  await agent.seen("link.connected");
  return agent;
}

describe("a control plane on Deno", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "is ended in order by %s, which may come twice: answers, 1001 for agents, exit code 0",
    async (signal) => {
      const daemon = deno(onDatabase());
      const api = new Api(await listening(daemon), token);
      const agent = await agentOf(api);
      const { id } = await api.start({ node: "n1", command: "echo here; sleep 300" });
      await api.printed(id, "here");
      const polled = api.get(`GET /v1/processes/${id}`, { query: { waitMs: 60_000 } });
      const stream = await api.fetch(`GET /v1/processes/${id}/events`);
      daemon.kill(signal);
      daemon.kill(signal);
      expect(await polled).toMatchObject({ status: "running" });
      expect(await stream.text()).not.toContain("event: end");
      expect(await daemon.ended).toEqual({ code: 0, signal: null });
      expect(daemon.log).toContain("control_plane.stopped");
      // The reason that Deno gives for 1001.
      await agent.seen("Server shutting down");
      const again = deno({ ...onDatabase(), DROVER_PORT: new URL(api.url).port });
      await listening(again);
      await expect.poll(async () => (await api.get("GET /v1/nodes/n1")).status).toBe("online");
      expect(await api.output(id)).toMatchObject({ text: "here\n" });
      await api.stop(id);
      expect(await api.final(id)).toMatchObject({ status: "killed" });
    },
  );

  it("brings a Postgres of its own where all is allowed, and finds it again after kill -9", async () => {
    const first = deno({}, ["--allow-all"]);
    const url = await listening(first);
    const api = new Api(url, readFileSync(join(dataDir(), "admin-token"), "utf8").trim());
    await agentOf(api);
    expect(await api.exec({ node: "n1", command: "exit 3" })).toMatchObject({ exitCode: 3 });
    await first.end("SIGKILL");
    const second = deno({ DROVER_PORT: new URL(url).port }, ["--allow-all"]);
    await listening(second);
    expect(second.log).toContain('"adopted":true');
    await expect.poll(async () => (await api.get("GET /v1/nodes/n1")).status).toBe("online");
    expect(await second.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(second.log).toContain("postgres.stop");
  });

  it("asks for a database, or for the flag that is missing", async () => {
    const refused = async (env: Record<string, string>, permissions: string[]) => {
      const daemon = deno(env, permissions);
      expect(await daemon.ended).toEqual({ code: 2, signal: null });
      return daemon.log;
    };
    expect(await refused(secrets, ["--allow-net", "--allow-env", "--allow-read", "--allow-run"])).toMatch(
      /^drover: set DATABASE_URL .* --allow-all\n$/,
    );
    expect(await refused(onDatabase(), ["--allow-env", "--allow-read"])).toMatch(/^drover: .*--allow-net/m);
    const noKey = { DATABASE_URL: database.url, DROVER_ADMIN_TOKEN: token };
    expect(await refused(noKey, ["--allow-net", "--allow-env", "--allow-read"])).toMatch(
      /^drover: .*--allow-write/m,
    );
  });

  it("says which port is in use", async () => {
    const busy = createServer().listen(0, "127.0.0.1");
    await once(busy, "listening");
    const { port } = busy.address() as { port: number };
    const daemon = deno({ ...onDatabase(), DROVER_PORT: String(port) });
    expect(await daemon.ended).toEqual({ code: 2, signal: null });
    expect(daemon.log).toMatch(new RegExp(`^drover: port ${port} on 127.0.0.1 is in use`, "m"));
    busy.close();
  });

  it("is a task, which passes the signals on", async () => {
    const daemon = run([], onDatabase(), denoTask("serve"));
    const api = new Api(await listening(daemon), token);
    expect(await api.get("GET /v1/me")).toMatchObject({ role: "admin" });
    expect(await daemon.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(daemon.log).toContain("control_plane.stopped");
  });
});
