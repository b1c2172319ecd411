import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Log } from "../../../node-agent/log.ts";
import { findWalls } from "../../../node-agent/machine/walls.ts";
import { nodePolicy } from "../../../node-agent/policy-file.ts";
import { Bench, eventually, newMark, pidsWith, temporaryFolder } from "../../support/engine.ts";

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const walls = findWalls(undefined, silent);
const user = "nobody";
const open = temporaryFolder();
chmodSync(open, 0o755);
afterAll(() => rmSync(open, { recursive: true, force: true }));

describe("a start that names a user", () => {
  let bench: Bench;
  beforeEach(() => void (bench = new Bench({ walls: { ...walls, enforces: ["memBytes"] } })));
  afterEach(() => bench.close());

  it("is the agent's own where that is who it names", async () => {
    const own = userInfo().username;
    const ended = await bench.run("id -un", { user: own });
    expect([ended.exitCode, await bench.text(ended.id)]).toEqual([0, `${own}\n`]);
  });

  it("runs nothing where the agent cannot be anybody else, and says so", async () => {
    const ended = await bench.run("echo ran", { user: "daemon" });
    expect(ended).toMatchObject({ status: "failed", reason: "spawn_error", totalBytes: 0 });
    expect(ended.detail).toMatch(/^user cannot be held/);
  });
});

describe.runIf(walls.enforces.includes("user"))(
  "a command of another user (skipped where the tests do not run as root)",
  () => {
    let bench: Bench;
    beforeEach(() => void (bench = new Bench({ walls })));
    afterEach(() => bench.close());
    const said = async (command: string, more = {}): Promise<string> => {
      const ended = await bench.run(command, { user, cwd: open, ...more });
      expect(ended).toMatchObject({ status: "exited", exitCode: 0 });
      return bench.text(ended.id);
    };
    const endOf = async (id: string) => {
      bench.supervisor.stop(id, { graceMs: 5000, reason: "stopped" });
      await bench.final(id);
      return bench.until(id, ({ survivors }) => survivors.length === 0);
    };

    it("is that user, with his groups and no others, and without capabilities", async () => {
      const id = await said("id -u; id -un; id -G; grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status");
      expect(id).toMatch(/^65534\nnobody\n65534\n(Cap\w+:\t0+\n){4}$/);
    });

    it("has his login environment and that of the start, whatever is in its values", async () => {
      const odd = 'it\'s "quoted" $HOME `id`\n\\n second';
      const env = { ODD: odd, UID: "7", LC_ALL: "C" };
      const text = await said("/usr/bin/env -0", { env });
      const variables = Object.fromEntries(
        text.split("\0").map((entry) => entry.split(/=([^]*)/).slice(0, 2) as [string, string]),
      );
      expect(variables).toMatchObject({ USER: user, LOGNAME: user, ...env });
      expect(variables["DROVER_PROCESS_ID"]).toMatch(/^proc_/);
      expect(variables["HOME"]).not.toBe(userInfo().homedir);
      expect(Object.keys(variables).filter((name) => name.startsWith("XDG_"))).toEqual([]);
    });

    it("begins in his home, or in / where he has none", async () => {
      expect(await said("pwd", { cwd: null })).toBe("/\n");
    });

    it("gives nothing of its environment to the wrapper, which is root's, and leaves no copy of it behind", async () => {
      const secret = newMark();
      const id = bench.start("echo up; exec sleep 100.0625", {
        user,
        env: { LD_PRELOAD: `/none/${secret}` },
      });
      const { pid } = await bench.running(id);
      await eventually(() => pidsWith("sleep\u0000100.0625").length === 1);
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const wrapper = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]);
      const environ = (of: number | null) => readFileSync(`/proc/${of}/environ`, "utf8");
      expect(environ(pid)).toContain(secret);
      expect(environ(wrapper)).not.toContain(secret);
      expect(readFileSync(`/proc/${wrapper}/status`, "utf8")).toMatch(/^Uid:\t0\t0\t0/m);
      const folder = join(bench.dir, "procs", id);
      expect(readdirSync(folder).toSorted()).toEqual(["out", "run"]);
      expect(readFileSync(join(folder, "run"), "utf8")).not.toContain(secret);
      expect(await endOf(id)).toMatchObject({ status: "killed" });
    });

    it("has its stdin, stdout and stderr for its own, and nothing else of the folder", async () => {
      const script = "cat /dev/stdin; echo out >>/dev/stdout; echo err >>/dev/stderr";
      const ended = await bench.run(script, {
        ...{ user, output: "split", stdin: { text: "in\n" } },
      });
      expect(await bench.text(ended.id, "stdout")).toBe("in\nout\n");
      expect(await bench.text(ended.id, "stderr")).toBe("err\n");
      const folder = join(bench.dir, "procs", ended.id);
      chmodSync(bench.dir, 0o755);
      const reach = `for f in run out in; do cat '${folder}'/$f && echo read; done 2>/dev/null; echo x >>'${folder}/run'; :`;
      expect(await said(`${reach} 2>/dev/null`)).not.toContain("read");
      expect(readFileSync(join(folder, "run"), "utf8")).toMatch(/ exit 0 .* end\n/);
    });

    it("neither ends nor stops the wrapper, so its ending is always known", async () => {
      expect(await said("kill -9 $PPID 2>/dev/null || kill -STOP $PPID 2>/dev/null || echo no")).toBe("no\n");
      const all = await bench.run("sleep 100.4375 & kill -9 0", { user });
      expect(all).toMatchObject({ status: "exited", signal: "KILL", survivors: [] });
      expect(await bench.run("exit 137", { user })).toMatchObject({ exitCode: 137, signal: null });
    });

    it("is stopped with all that it left behind", async () => {
      const mark = newMark();
      const id = bench.start(`setsid sh -c 'sleep ${mark} & wait' & sleep ${mark}`, { user });
      await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
      expect(await endOf(id)).toMatchObject({ status: "killed", reason: "stopped", survivors: [] });
      expect(pidsWith(mark)).toEqual([]);
    });

    it("is found by the next agent, takes its input from there, and is told as it ends", async () => {
      const id = bench.start("read -r code </dev/stdin; exit $code", { user, stdin: "pipe" });
      await bench.running(id);
      await bench.restart();
      expect(await bench.supervisor.stdin(id, Buffer.from("5\n"), false)).toEqual({
        value: { writtenBytes: 2 },
      });
      expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
    });

    it("may be a text of any length, and words of a program", async () => {
      expect(await said(`: ${"x".repeat(200_000)}\nid -un`)).toBe("nobody\n");
      const words = { command: null, argv: ["printf", "%s|", "a b", "'"], user, nice: 5 };
      expect(await said("", words)).toBe("a b|'|");
      const missing = await bench.run("", { ...words, argv: ["no-such-program"] });
      expect(missing).toMatchObject({ status: "exited", exitCode: 127 });
      expect(await bench.text(missing.id)).toBe("no-such-program: not found\n");
    });

    it("is no start in a folder that he may not enter", async () => {
      const closed = join(open, "closed");
      mkdirSync(closed, { mode: 0o700 });
      const ended = await bench.run("echo ran", { user, cwd: closed });
      expect(ended).toMatchObject({ status: "failed", reason: "cwd_not_found", totalBytes: 0 });
      expect(ended.detail).toContain(`nobody may not enter ${closed}`);
    });

    it("is no start for a user whom nobody knows or whom the node's policy does not list", async () => {
      expect(await bench.run("true", { user: "no-such-user" })).toMatchObject({
        status: "failed",
        reason: "spawn_error",
        detail: "there is no user no-such-user in /etc/passwd of this node",
      });
      const file = join(open, "policy.json");
      await bench.restart({ policy: nodePolicy(file, silent) });
      const refused = { status: "failed", reason: "command_refused" };
      expect(await bench.run("true", { user })).toMatchObject(refused);
      writeFileSync(file, JSON.stringify({ users: ["daemon"] }));
      expect(await bench.run("true", { user })).toMatchObject(refused);
      writeFileSync(file, JSON.stringify({ users: ["daemon", user] }));
      expect(await said("id -un")).toBe("nobody\n");
    });
  },
);
