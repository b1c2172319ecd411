import { chmod, mkdtemp, readFile, readdir, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli, startCli, type Ended, type Running } from "../cli/run-cli.ts";

let folder: string;
let started: Running[];

beforeEach(async () => {
  started = [];
  folder = await mkdtemp(join(tmpdir(), "drover-up-"));
  // As root, Postgres runs as another user, who must be able to pass.
  await chmod(folder, 0o755);
});

afterEach(async () => {
  for (const { child, ended } of started) {
    child.kill("SIGTERM");
    await ended;
  }
  const survivors = await left();
  for (const survivor of survivors) process.kill(Number.parseInt(survivor), "SIGKILL");
  await rm(folder, { recursive: true, force: true });
  if (survivors.length > 0) throw new Error(`left running: ${survivors.join("; ")}`);
});

const env = (more: Record<string, string> = {}): Record<string, string> => ({
  XDG_CONFIG_HOME: join(folder, "config"),
  DROVER_DATA_DIR: join(folder, "data"),
  DROVER_PORT: "0",
  ...more,
});

const start = (verb: "up" | "serve", more?: Record<string, string>): Running => {
  const running = startCli([verb], { env: env(more), stdin: "ignore", bin: true });
  started.push(running);
  return running;
};

const up = async (): Promise<Running> => {
  const running = start("up");
  await running.seen("Ctrl-C stops it");
  return running;
};

const drover = (...words: string[]): Promise<Ended> => runCli(words, { env: env(), stdin: "ignore" });

const background = async (text: string, ...options: string[]): Promise<string> =>
  (await drover("run", ...options, "-c", text)).stdout.trim();

/** Everything on this machine that has our folder in its command line or environment. */
async function left(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map(
      async (pid) =>
        [pid, await textOf(`/proc/${pid}/cmdline`), await textOf(`/proc/${pid}/environ`)] as const,
    ),
  );
  return lines
    .filter(([, command, environ]) => `${command}${environ}`.includes(folder))
    .map(([pid, command]) => `${pid} ${command}`);
}

// Gone meanwhile, or a kernel thread.
const textOf = (path: string): Promise<string> => readFile(path, "latin1").catch(() => "");

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("still not so after 30 s");
    await delay(20);
  }
}

const agentPid = async (): Promise<number> =>
  Number(await readFile(join(folder, "data/local-agent.pid"), "utf8"));
const isAlive = async (pid: number): Promise<boolean> => !/^$|\) Z/.test(await textOf(`/proc/${pid}/stat`));

describe("drover up", () => {
  it("runs commands a moment later, and Ctrl-C leaves nothing of it", async () => {
    const running = await up();
    expect(await drover("exec", "--", "echo", "here")).toMatchObject({
      code: 0,
      stdout: "here\n",
      stderr: "",
    });
    expect((await drover("nodes")).stdout).toContain("local");
    await background("sleep 600 & sleep 600");
    running.child.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/ sign in +http:\/\/127\.0\.0\.1:\d+\/#code=drvc_[\w-]{43} /);
    expect(stderr).toContain("drover: stopped 1 process\n");
    expect(await left()).toEqual([]);
  });

  it("says who runs when it is started twice, and the first one goes on", async () => {
    const first = await up();
    const second = await start("up").ended;
    expect(second).toMatchObject({ code: 2, stdout: "" });
    expect(second.stderr.match(/^drover: .*\n/gm)).toEqual([
      expect.stringContaining(`process ${first.child.pid}`),
    ]);
    expect((await drover("exec", "--", "true")).code).toBe(0);
  });

  it("takes over from one that was killed: what ran there runs on", async () => {
    const first = await up();
    const id = await background("sleep 600");
    const former = await agentPid();
    first.child.kill("SIGKILL");
    await first.ended;
    const second = await up();
    expect(await isAlive(former)).toBe(false);
    expect((await drover("ps")).stdout).toMatch(new RegExp(`${id} +local +running`));
    second.child.kill("SIGTERM");
    expect((await second.ended).stderr).toContain("drover: stopped 1 process\n");
  });

  it("starts an agent again that died, which finds its processes", async () => {
    const running = await up();
    const id = await background("sleep 600");
    const former = await agentPid();
    process.kill(former, "SIGKILL");
    await running.seen("starting it again");
    await until(async () => (await agentPid()) !== former);
    await until(async () => new RegExp(`${id} +local +running +\\d`).test((await drover("ps")).stdout));
  });

  it("keeps its node when it is started again, and makes a new one when its database is gone", async () => {
    const idOf = async (): Promise<string | undefined> =>
      /node_\w+/.exec((await drover("nodes")).stdout)?.[0];
    const stop = async ({ child, ended }: Running): Promise<void> => {
      child.kill("SIGINT");
      await ended;
    };
    const first = await up();
    const id = await idOf();
    await stop(first);
    const second = await up();
    expect(await idOf()).toBe(id);
    await stop(second);
    await rm(join(folder, "data"), { recursive: true });
    await up();
    expect(await idOf()).toMatch(/^node_/);
    expect(await idOf()).not.toBe(id);
  });
});

describe("drover serve", () => {
  it("says where it listens, saves the profile for its user alone, and stops on TERM", async () => {
    const { child, ended, seen } = start("serve");
    await seen("Drover listens on http://127.0.0.1:");
    expect((await stat(join(folder, "config/drover/profiles.json"))).mode & 0o777).toBe(0o600);
    expect(await drover("nodes", "-o", "json")).toMatchObject({ code: 0, stdout: "[]\n" });
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });

  it("names the setting when its port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const ended = await start("serve", { DROVER_PORT: String(port) }).ended;
    other.close();
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(new RegExp(`^drover: port ${port} .*DROVER_PORT.*$`, "m"));
  });

  it.each([
    [{ DROVER_PORT: "many" }, "DROVER_PORT"],
    [{ DATABASE_URL: "mysql://x" }, "DATABASE_URL"],
    [{ DATABASE_URL: "postgres://x:y@127.0.0.1:1/z" }, "DATABASE_URL"],
  ])("ends with 2 and one line for %j", async (wrong, name) => {
    const { code, stdout, stderr } = await start("serve", wrong).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"))).toEqual([
      expect.stringContaining(name),
    ]);
  });
});

describe("drover migrate", () => {
  it.each([
    [{}, "DATABASE_URL"],
    [{ DATABASE_URL: "postgres://x:y@127.0.0.1:1/z" }, "could not be migrated"],
  ])("ends with 2 and one line for %j", async (wrong, text) => {
    const ended = await runCli(["migrate"], { env: env(wrong), stdin: "ignore" });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
    expect(ended.stderr).toContain(text);
  });
});
