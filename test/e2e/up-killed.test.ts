import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Api } from "../support/api.ts";
import { Daemon } from "../support/daemon.ts";
import { pidsWith, temporaryFolder } from "../support/eventually.ts";
import { endAllOf } from "../support/sweep.ts";

let folder: string;
let started: Daemon[];

beforeEach(() => {
  folder = temporaryFolder();
  // As root, Postgres runs as another user, who must be able to pass.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "home"));
  started = [];
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(started.map(({ log }) => log).join("\n---\n"));
  for (const daemon of started) daemon.kill("SIGKILL");
  await endAllOf(folder);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const dataDir = () => join(folder, "data dir");
const env = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: join(folder, "home"),
  XDG_CONFIG_HOME: join(folder, "home/config"),
  DROVER_DATA_DIR: dataDir(),
  DROVER_PORT: "0",
});

type Who = { uid?: number; gid?: number };

async function up(who: Who = {}): Promise<{ daemon: Daemon; api: Api }> {
  const daemon = new Daemon(["up"], { env: env(), ...who });
  started.push(daemon);
  await daemon.seen("Ctrl-C stops it");
  const url = /Drover is up at (\S+)/.exec(daemon.log)?.[1] ?? "";
  return { daemon, api: new Api(url, readFileSync(join(dataDir(), "admin-token"), "utf8").trim()) };
}

const isOpen = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ port: Number(new URL(url).port), host: "127.0.0.1" });
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });

async function expectNothingLeft(url: string): Promise<void> {
  expect(pidsWith(folder)).toEqual([]);
  expect(await isOpen(url)).toBe(false);
  const locks = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("postmaster.pid"),
  );
  expect(locks).toEqual([]);
}

describe("drover up", () => {
  it("after kill -9 of everything finds its database, its node and what still runs", async () => {
    const first = await up();
    const ended = await first.api.exec({ node: "local", command: "echo kept; exit 3" });
    const running = await first.api.start({
      node: "local",
      command: "echo up; read -r line; exit 9",
      stdin: "pipe",
    });
    await first.api.printed(running.id, "up");
    const { pid } = await first.api.process(running.id);
    const ours = pidsWith(running.id);
    // The control plane, its Postgres and the agent, all in one moment; not what the agent started.
    for (const victim of pidsWith(folder).filter((each) => !ours.includes(each)))
      process.kill(victim, "SIGKILL");
    await first.daemon.ended;
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    const { daemon, api } = await up();
    expect(await api.process(ended.id)).toMatchObject({ status: "exited", exitCode: 3 });
    expect((await api.output(ended.id)).text).toBe("kept\n");
    await api.get(`POST /v1/processes/${running.id}/stdin`, { body: { eof: true } });
    expect(await api.final(running.id)).toMatchObject({ status: "exited", exitCode: 9, pid });
    expect(await daemon.end("SIGINT")).toEqual({ code: 0, signal: null });
    await expectNothingLeft(api.url);
  }, 120_000);

  it("leaves running what has not ended at a second Ctrl-C, says so, and finds it again", async () => {
    const { daemon, api } = await up();
    const { id } = await api.start({
      node: "local",
      command: "trap '' TERM; echo up; sleep 600",
      graceMs: 60_000,
    });
    await api.printed(id, "up");
    daemon.kill("SIGINT");
    await daemon.seen("Ctrl-C again leaves running what has not ended");
    // Presses within a quarter of a second count as one, and nothing tells when that is over.
    await delay(260);
    daemon.kill("SIGINT");
    expect((await daemon.ended).code).toBe(0);
    expect(daemon.log).toContain(
      "drover: stopped 0 processes, left 1 process running: the next drover up finds it again\n",
    );
    const next = await up();
    expect(await next.api.process(id)).toMatchObject({ status: "running", stale: false });
    await next.api.get(`POST /v1/processes/${id}/stop`, { body: { graceMs: 0 } });
    expect(await next.api.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
    await next.daemon.end("SIGINT");
    expect(next.daemon.log).toContain("drover: stopped 0 processes\n");
    await expectNothingLeft(next.api.url);
  }, 120_000);

  it("says that it does not know what became of the processes when its agent is gone", async () => {
    const { daemon, api } = await up();
    const { id } = await api.start({ node: "local", command: "echo up; sleep 600" });
    await api.printed(id, "up");
    const agent = Number(readFileSync(join(dataDir(), "local-agent.pid"), "utf8"));
    process.kill(agent, "SIGKILL");
    await daemon.seen("starting it again");
    expect(await daemon.end("SIGINT")).toEqual({ code: 0, signal: null });
    expect(daemon.log).toContain(
      "drover: the agent ended without saying what it stopped; the next drover up finds what still runs\n",
    );
    expect(pidsWith(id).length).toBeGreaterThan(0);
  }, 120_000);

  const nobody = 65_534;
  const isRoot = process.getuid?.() === 0;
  const isPassable = isRoot && !closedToOthers(import.meta.dirname);
  it.skipIf(!isPassable)(
    "works for a user who is not root (skipped when the tests do not run as root, or other users may not enter the checkout)",
    async () => {
      for (const path of [folder, join(folder, "home")]) chownSync(path, nobody, nobody);
      const { daemon, api } = await up({ uid: nobody, gid: nobody });
      const { result } = await api.exec({ node: "local", command: "id -u; pwd" });
      expect(result.text).toMatch(/^65534\n/);
      const { id } = await api.start({ node: "local", command: "echo up; sleep 600 & sleep 600" });
      await api.printed(id, "up");
      expect(await daemon.end("SIGINT")).toEqual({ code: 0, signal: null });
      await expectNothingLeft(api.url);
    },
    120_000,
  );
});

function closedToOthers(path: string): boolean {
  const folders = path.split("/").map((_, n, parts) => parts.slice(0, n + 1).join("/") || "/");
  return folders.some((each) => (statSync(each).mode & 0o001) === 0);
}
