import { execa } from "execa";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startEmbeddedPostgres } from "../../../../control-plane/store/embedded/start.ts";

const child = join(import.meta.dirname, "../../../support/embedded-child.ts");
const isRoot = process.geteuid?.() === 0;
const cleanups: (() => unknown)[] = [];
let folder = "";
let dataDir = "";
let made = "";

// Making a cluster takes over a second of work: tests that are not about it start from a copy.
beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), "drover-embedded-"));
  await chmod(made, 0o711);
  await (await startEmbeddedPostgres({ dataDir: made, durable: false, log: { info: () => {} } })).stop();
});

afterAll(() => rm(made, { recursive: true, force: true }));

async function copyOfCluster(): Promise<void> {
  await mkdir(dataDir);
  await execa("cp", ["-a", join(made, "postgres"), join(made, "postgres-password"), dataDir]);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-embedded-"));
  await chmod(folder, 0o755);
  dataDir = join(folder, "data");
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
});

afterEach(async () => {
  // In order, and each of them also when one before it failed: no test leaves a server to the next.
  const failures: unknown[] = [];
  for (const cleanup of cleanups.splice(0).toReversed())
    await Promise.resolve(cleanup()).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, "A clean-up failed.");
});

const start = async (signal?: AbortSignal) => {
  const server = await startEmbeddedPostgres({
    dataDir,
    durable: false,
    log: { info: () => {} },
    ...(signal && { signal }),
  });
  cleanups.push(() => server.stop());
  return server;
};

type Said = { url: string; adopted: boolean; code: string; message: string };

function controlPlane(options: { uid?: number; arch?: string; dir?: string } = {}) {
  const args = [child, options.dir ?? dataDir, ...(options.arch ? [options.arch] : [])];
  const user = options.uid ? { uid: options.uid, gid: options.uid } : {};
  const running = execa(process.execPath, args, {
    ...user,
    stdin: "pipe",
    reject: false,
    buffer: false,
    cleanup: true,
  });
  const said = once(createInterface(running.stdout), "line").then(([line]): Said => JSON.parse(line));
  const end = async () => {
    running.stdin.end();
    await running;
  };
  cleanups.push(end);
  return { running, said, end };
}

async function ask<T extends object>(url: string, statement: string): Promise<T[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe<T[]>(statement);
  } finally {
    await sql.end();
  }
}

const postmasterPid = async () =>
  Number((await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8")).split("\n")[0]);

// What waits for its parent to take note (Z) has ended.
async function isAlive(pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return line !== "" && !/\) [ZX] /.test(line);
}

describe("a first start and the next one", () => {
  it("makes a UTF8 cluster that keeps its data over a clean stop, and leaves no process", async () => {
    const first = await start();
    expect(first.adopted).toBe(false);
    await ask(first.url, "create table kept as select 'é' as word");
    expect(await ask(first.url, "show server_encoding")).toEqual([{ server_encoding: "UTF8" }]);
    const pid = await postmasterPid();
    await first.stop();
    // Its memory goes a moment before the process does.
    await expect.poll(() => isAlive(pid)).toBe(false);

    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await ask(second.url, "select word from kept")).toEqual([{ word: "é" }]);
  });

  it("lets in nobody without the password, which only the owner of the data folder can read", async () => {
    await copyOfCluster();
    const server = await start();
    const url = new URL(server.url);
    url.password = "wrong";
    await expect(ask(url.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    expect((await stat(join(dataDir, "postgres-password"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, "postgres"))).mode & 0o077).toBe(0);
  });

  it("removes the binaries of an earlier version, and nothing else", async () => {
    await copyOfCluster();
    await mkdir(join(dataDir, "postgres-17.0.0"));
    const server = await start();
    const names = (await readdir(dataDir)).filter((name) => name.startsWith("postgres"));
    expect(names).not.toContain("postgres-17.0.0");
    expect(names).toEqual(expect.arrayContaining(["postgres", "postgres-password", "postgres.lock"]));
    expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("is started again on its port when it is killed, with what was committed, and stopped in the end", async () => {
    await copyOfCluster();
    const server = await start();
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    cleanups.push(() => sql.end({ timeout: 1 }));
    await sql`create table kept as select 1 as one`;
    const killed = await postmasterPid();
    process.kill(killed, "SIGKILL");
    await expect.poll(postmasterPid, { timeout: 20_000 }).not.toBe(killed);
    const asked = () => sql`select one from kept`.catch(() => []);
    await expect.poll(asked, { timeout: 20_000 }).toHaveLength(1);
    const pid = await postmasterPid();
    await server.stop();
    // Its memory goes a moment before the process does.
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("stops twice without harm, and an abort before the start leaves nothing", async () => {
    await copyOfCluster();
    await expect(start(AbortSignal.abort(new Error("no longer wanted")))).rejects.toThrow("no longer wanted");
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
  });

  it("tells the end of the server to a process that has nothing else to do", async () => {
    await copyOfCluster();
    const { running, said } = controlPlane();
    await said;
    const next = once(createInterface(running.stdout), "line");
    running.stdin.end();
    expect(JSON.parse(String(await next))).toEqual({ stopped: true });
    expect((await running).exitCode).toBe(0);
  });
});

describe("after a control plane that was killed", () => {
  it("adopts the server that lives on, and stops it in the end", async () => {
    await copyOfCluster();
    const first = controlPlane();
    const { url } = await first.said;
    const pid = await postmasterPid();
    first.running.kill("SIGKILL");
    await first.running;
    expect(await isAlive(pid)).toBe(true);

    const server = await start();
    expect(server).toMatchObject({ adopted: true, url });
    await server.stop();
    // Its memory goes a moment before the process does.
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("recovers a cluster whose server was killed too", async () => {
    await copyOfCluster();
    const first = await start();
    await ask(first.url, "create table kept as select 1 as one");
    process.kill(await postmasterPid(), "SIGKILL");
    await first.stop();
    const second = await start();
    expect(await ask(second.url, "select one from kept")).toEqual([{ one: 1 }]);
  });

  it("takes a postmaster.pid whose number belongs to another process for stale", async () => {
    await copyOfCluster();
    const first = await start();
    const pidFile = join(dataDir, "postgres", "postmaster.pid");
    const text = await readFile(pidFile, "utf8");
    await first.stop();
    const bystander = execa("sleep", ["60"], { reject: false });
    cleanups.push(() => bystander.kill("SIGKILL"));
    await writeFile(pidFile, text.replace(/^\d+/, String(bystander.pid)));

    const server = await start();
    expect(server.adopted).toBe(false);
    await server.stop();
    expect(await isAlive(bystander.pid ?? 0)).toBe(true);
  });
});

describe("a second control plane on one data folder", () => {
  it("is refused with the process id of the first", async () => {
    await copyOfCluster();
    await start();
    const error: Said = await startEmbeddedPostgres({ dataDir, log: { info: () => {} } }).then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.code).toBe("already_running");
    expect(error.message).toContain(`process ${process.pid}`);
  });

  it("never wins a race: of four at once exactly one starts", async () => {
    const racers = [1, 2, 3, 4].map(() => controlPlane());
    const said = await Promise.all(racers.map((racer) => racer.said));
    expect(said.filter((each) => each.url !== undefined)).toHaveLength(1);
    expect(said.filter((each) => each.code === "already_running")).toHaveLength(3);
  });
});

describe("who runs it", () => {
  it.runIf(isRoot)("is an unprivileged user when root starts it where that user can go", async () => {
    await copyOfCluster();
    await start();
    expect((await stat(`/proc/${await postmasterPid()}`)).uid).not.toBe(0);
  });

  it.runIf(isRoot)(
    "is root under another id behind a folder that only root may enter, again and again",
    async () => {
      await chmod(folder, 0o700);
      const first = await start();
      await ask(first.url, "create table kept as select 1 as one");
      await first.stop();
      const second = await start();
      expect(await ask(second.url, "select one from kept")).toEqual([{ one: 1 }]);
      expect((await stat(join(dataDir, "postgres"))).uid).toBe(0);
    },
  );

  it.runIf(isRoot)("is the user itself when that is not root", async () => {
    const uid = 12_345;
    await mkdir(dataDir);
    await execa("chown", [String(uid), dataDir]);
    const other = controlPlane({ uid });
    const { url } = await other.said;
    expect(await ask(url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await stat(`/proc/${await postmasterPid()}`)).uid).toBe(uid);
  });
});

describe("a start that can not succeed", () => {
  it("asks for DATABASE_URL where there is no binary", async () => {
    const { code, message } = await controlPlane({ arch: "riscv64" }).said;
    expect(code).toBe("no_binary");
    expect(message).toContain("DATABASE_URL");
  });

  it("shows the last lines of the server's log", async () => {
    await copyOfCluster();
    await (await start()).stop();
    await unlink(join(dataDir, "postgres", "global", "pg_control"));
    await expect(start()).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringContaining("pg_control"),
    });
  });

  it("names the folder it can not use", async () => {
    await writeFile(dataDir, "a file in the way");
    await expect(start()).rejects.toThrow(dataDir);
  });

  it.runIf(isRoot)("names the folder it may not write", async () => {
    await chmod(folder, 0o755);
    const { code, message } = await controlPlane({ uid: 12_345 }).said;
    expect(code).toBe("folder_unreachable");
    expect(message).toContain(dataDir);
  });
});
