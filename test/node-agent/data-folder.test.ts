import { spawn } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  cpSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDataFolder } from "../../node-agent/data-folder.ts";
import { keyHash, makeKey, readIdentity, storeIdentity } from "../../node-agent/identity.ts";
import { temporaryFolder } from "../support/engine.ts";

let parent: string;
let path: string;
beforeEach(() => {
  parent = temporaryFolder();
  path = join(parent, "data");
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const mode = (file: string): number => statSync(file).mode & 0o777;

/** Another process that opens the folder, says what came of it, and lives until its stdin ends. */
const contender = (folder: string) => {
  const code = `
    import { openDataFolder } from ${JSON.stringify(join(import.meta.dirname, "../../node-agent/data-folder.ts"))};
    await new Promise((resolve) => process.stdin.once("data", resolve));
    try { openDataFolder(process.argv[1]); console.log("mine"); } catch (error) { console.log(error.message); }
    process.stdin.once("end", () => process.exit());`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    pid: child.pid,
    open: () => void child.stdin.write("go\n"),
    outcome: async () => String((await lines.next()).value),
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await ended;
    },
  };
};

describe("a data folder", () => {
  it("is made with everything that leads to it, for its owner only, also where it was open to all", () => {
    mkdirSync(path, { mode: 0o755 });
    const folder = openDataFolder(path);
    expect([mode(path), mode(folder.procs)]).toEqual([0o700, 0o700]);
    folder.close();
    const deeper = openDataFolder(join(path, "a/b"));
    expect(mode(deeper.path)).toBe(0o700);
    deeper.close();
  });

  it("counts the agents that started in it", () => {
    const generations = [1, 2, 3].map(() => {
      const folder = openDataFolder(path);
      folder.close();
      return folder.generation;
    });
    expect(generations).toEqual([1, 2, 3]);
    writeFileSync(join(path, "generation"), "");
    expect(openDataFolder(path).generation).toBe(1);
  });

  it("says in words why it cannot be used", () => {
    writeFileSync(path, "");
    expect(() => openDataFolder(path)).toThrow(`the data folder ${path} cannot be used: it is not a folder`);
    expect(() => openDataFolder(join(path, "below"))).toThrow("it is not a folder");
    expect(() => openDataFolder("/proc/nowhere/data")).toThrow(
      "the data folder /proc/nowhere/data cannot be used",
    );
  });
});

describe("the lock of a data folder", () => {
  it("tells a second agent the pid of the first, until that one is killed", async () => {
    const first = contender(path);
    first.open();
    expect(await first.outcome()).toBe("mine");
    expect(() => openDataFolder(path)).toThrow(
      `the data folder ${path} is used by another agent (pid ${first.pid})`,
    );
    await first.end("SIGKILL");
    openDataFolder(path).close();
    expect(readdirSync(path)).not.toContain("agent.lock");
  });

  it("is won by one of many that start at once, also over the claim of one that was killed", async () => {
    const dead = contender(path);
    dead.open();
    await dead.outcome();
    await dead.end("SIGKILL");
    const many = Array.from({ length: 8 }, () => contender(path));
    for (const one of many) one.open();
    const outcomes = await Promise.all(many.map((one) => one.outcome()));
    expect(outcomes.filter((outcome) => outcome === "mine")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.includes("is used by another agent (pid "))).toHaveLength(7);
    expect(readdirSync(path).filter((name) => name.startsWith("agent.lock"))).toEqual(["agent.lock"]);
    await Promise.all(many.map((one) => one.end("SIGKILL")));
  });

  it("does not hold where the pid belongs to another process by now, or in a copy of the folder", () => {
    mkdirSync(path);
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    symlinkSync(`${process.ppid}.1.${boot}.${statSync(path).ino}`, join(path, "agent.lock"));
    const folder = openDataFolder(path);
    cpSync(path, `${path}-copy`, { recursive: true, verbatimSymlinks: true });
    expect(readdirSync(`${path}-copy`)).toContain("agent.lock");
    openDataFolder(`${path}-copy`).close();
    folder.close();
  });

  it("is refused to the same process a second time", () => {
    const folder = openDataFolder(path);
    expect(() => openDataFolder(path)).toThrow(`(pid ${process.pid})`);
    folder.close();
  });
});

describe("an identity", () => {
  it("is kept for its owner only, and known as a copy in another folder", () => {
    const folder = openDataFolder(path);
    expect(readIdentity(folder)).toEqual({ state: "none" });
    const key = makeKey(folder);
    expect(Buffer.from(key, "base64url")).toHaveLength(32);
    expect(readIdentity(folder)).toEqual({ state: "key", key });
    const identity = { nodeId: "node_1", name: "n1", key, url: "http://x" };
    storeIdentity(folder, identity);
    expect(mode(join(path, "identity.json"))).toBe(0o600);
    expect(readIdentity(folder)).toEqual({ state: "node", identity, isCopy: false });
    folder.close();
    cpSync(path, `${path}-copy`, { recursive: true });
    const copy = openDataFolder(`${path}-copy`);
    expect(readIdentity(copy)).toMatchObject({ state: "node", isCopy: true });
    copy.close();
  });

  it("that is damaged is named, and not replaced", () => {
    const folder = openDataFolder(path);
    writeFileSync(join(path, "identity.json"), '{"key":');
    expect(() => readIdentity(folder)).toThrow(/identity.json is damaged/);
    folder.close();
  });

  it("is proved by the SHA-256 of its key's text", () => {
    expect(keyHash("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe.skipIf(process.getuid?.() !== 0)("a data folder on a disk that is full", () => {
  afterEach(() => execa("umount", [path], { reject: false }));

  it("still opens for an agent that was there before, and names the disk to one that was not", async () => {
    mkdirSync(path);
    await execa("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", path]);
    openDataFolder(path).close();
    const filler = join(path, "filler");
    await execa("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"], { reject: false });
    const folder = openDataFolder(path);
    expect(folder.generation).toBe(2);
    expect(() => makeKey(folder)).toThrow(/identity.json cannot be written: its disk is full/);
    folder.close();
    rmSync(join(path, "generation"));
    await execa("dd", ["if=/dev/zero", `of=${filler}2`, "bs=4k"], { reject: false });
    expect(() => openDataFolder(path)).toThrow("its disk is full");
  });
});
