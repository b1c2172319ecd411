import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Log } from "../../../node-agent/log.ts";
import { findWalls, noWalls } from "../../../node-agent/machine/walls.ts";
import { nodePolicy } from "../../../node-agent/policy-file.ts";
import { cgroupFolder } from "./cgroup-folder.ts";
import { Bench, eventually, newMark, pidsWith, temporaryFolder } from "../../support/engine.ts";

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const walls = findWalls(undefined, silent);
const groups = cgroupFolder("sandbox");
afterAll(() => groups && rmdirSync(groups));

describe("a policy that asks for a sandbox", () => {
  let folder: string;
  let bench: Bench;
  const write = (policy: object): void => writeFileSync(join(folder, "policy.json"), JSON.stringify(policy));
  const open = (more = {}): void =>
    void (bench = new Bench({ policy: nodePolicy(join(folder, "policy.json"), silent), ...more }));
  beforeEach(() => void (folder = temporaryFolder()));
  afterEach(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("lets nothing start where there is none to be had", async () => {
    write({ sandbox: { with: "bwrap" } });
    open({ walls: noWalls });
    const ended = await bench.run("echo ran");
    expect(ended).toMatchObject({ status: "failed", reason: "command_refused", totalBytes: 0 });
    expect(ended.detail).toContain("bwrap is not installed or does not work");
  });

  it("lets nothing start where it names another or a folder that is none", async () => {
    open({ walls });
    for (const sandbox of [{ with: "firejail" }, { with: "bwrap", writable: ["tmp"] }, "bwrap"]) {
      write({ sandbox });
      const ended = await bench.run("echo ran");
      expect(ended).toMatchObject({ status: "failed", reason: "command_refused", totalBytes: 0 });
      expect(ended.detail).toContain("policy file");
    }
  });

  describe.runIf(walls.enforces.includes("bwrap"))(
    "and gets it (skipped where bwrap is not installed or does not work)",
    () => {
      let writable: string;
      beforeEach(() => {
        writable = join(folder, "work");
        mkdirSync(writable, { mode: 0o777 });
        write({ sandbox: { with: "bwrap", writable: [writable] } });
        open({ walls });
      });
      const said = async (command: string, more = {}): Promise<string> => {
        const ended = await bench.run(command, { cwd: "/", ...more });
        expect(ended).toMatchObject({ status: "exited", survivors: [] });
        return bench.text(ended.id);
      };

      it("lets commands write where it says and nowhere else, and hides what is the agent's and of others", async () => {
        writeFileSync(join(bench.dir, "identity"), "secret");
        const script = `
          for at in /etc /usr /var/tmp "$HOME" /proc/../opt; do echo x >"$at/drover-wrote" && echo "wrote $at"; done
          cat '${bench.dir}/identity'; ls '${bench.dir}/procs' | wc -l; ls -A /run /tmp | grep -c sock
          echo mine >/tmp/own && cat /tmp/own; echo kept >kept; grep CapEff /proc/self/status`;
        const text = await said(script, { cwd: writable });
        expect(text).not.toMatch(/^wrote|secret/m);
        expect(text).toMatch(/^1\n0\nmine\nCapEff:\t0+$/m);
        expect(readFileSync(join(writable, "kept"), "utf8")).toBe("kept\n");
      });

      it("hides what is the agent's also where a folder that commands may write in holds it", async () => {
        write({ sandbox: { with: "bwrap", writable: [dirname(bench.dir), join(bench.dir, "chats")] } });
        writeFileSync(join(bench.dir, "identity"), "secret");
        mkdirSync(join(bench.dir, "chats"));
        expect(await said(`ls '${bench.dir}' && echo x >'${bench.dir}/chats/kept'`)).toBe("chats\nprocs\n");
        expect(readFileSync(join(bench.dir, "chats", "kept"), "utf8")).toBe("x\n");
        expect(await said(`echo y >'${writable}/kept'`)).toBe("");
      });

      it("changes nothing in how an ending is told", async () => {
        expect(await bench.run("exit 137")).toMatchObject({ status: "exited", exitCode: 137, signal: null });
        expect(await bench.run("kill -9 $$")).toMatchObject({ exitCode: null, signal: "KILL" });
        expect(await bench.run("kill -SEGV $$")).toMatchObject({ exitCode: null, signal: "SEGV" });
        const id = bench.start("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
        await bench.until(id, ({ totalBytes }) => totalBytes > 0);
        bench.supervisor.stop(id, { graceMs: 20_000, reason: "stopped" });
        const told = { status: "killed", reason: "stopped", exitCode: 3 };
        expect(await bench.final(id)).toMatchObject(told);
        expect(await bench.text(id)).toMatch(/^up\n(Terminated\n)?bye\n$/);
      });

      it("changes nothing in how a command is stopped, what it leaves behind included", async () => {
        const mark = newMark();
        const id = bench.start(`setsid sh -c 'sleep ${mark} & wait' & exec sleep ${mark}`);
        await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
        bench.supervisor.stop(id, { graceMs: 5000, reason: "stopped" });
        expect(await bench.final(id)).toMatchObject({ status: "killed", signal: "TERM", survivors: [] });
        expect(pidsWith(mark)).toEqual([]);
        await eventually(() => pidsWith(id).length === 0);
      });

      it("lets the next agent find the command and write to it, and a limit end it", async () => {
        const id = bench.start("read -r code; exit $code", { stdin: "pipe" });
        await bench.running(id);
        await bench.restart();
        const wrote = { value: { writtenBytes: 2 } };
        expect(await bench.supervisor.stdin(id, Buffer.from("5\n"), false)).toEqual(wrote);
        expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 5, survivors: [] });
        expect(await bench.run("exec sleep 100.40625", { timeoutMs: 300 })).toMatchObject({
          status: "timed_out",
          signal: "TERM",
        });
      });

      it("gives the command its words, its environment and its input, and the wrapper nothing of them", async () => {
        const env = { LD_PRELOAD: "/none", A: "it's" };
        expect(await said('printf "%s|" "$A"; cat', { env, stdin: { text: "in" } })).toMatch(/it's\|.*in$/s);
        expect(await said(`: ${"x".repeat(200_000)}\necho long`)).toBe("long\n");
        expect(await said("", { command: null, argv: ["printf", "%s|", "a b"] })).toBe("a b|");
        const id = bench.start("echo up; sleep 100.15625", { env: { A: newMark(), LD_PRELOAD: "/none/x" } });
        const { pid } = await bench.until(id, ({ totalBytes }) => totalBytes > 0);
        const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
        expect(readFileSync(`/proc/${parent}/environ`, "utf8")).not.toMatch(/LD_PRELOAD|A=/);
        expect(readdirSync(join(bench.dir, "procs", id)).toSorted()).toEqual(["out", "run"]);
      });

      it("leaves the command only a loopback where it says so", async () => {
        const names = "cut -d: -f1 /proc/self/net/dev | tail -n +3 | tr -d ' '";
        write({ sandbox: { with: "bwrap", network: false } });
        expect(await said(names)).toBe("lo\n");
      });

      it("is no start in a folder that is hidden inside", async () => {
        const ended = await bench.run("echo ran", { cwd: folder });
        expect(ended).toMatchObject({ status: "failed", reason: "cwd_not_found", totalBytes: 0 });
        expect(ended.detail).toContain("hides");
      });

      it.runIf(groups !== undefined)(
        "joins its cgroup from inside (skipped where no cgroup v2 can be had)",
        async () => {
          await bench.restart({ walls: { ...walls, cgroup: groups } });
          const mark = newMark();
          const id = bench.start(`(env -i setsid sh -c 'sleep ${mark} & :' &) ; sleep ${mark}`);
          await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
          const inside = readFileSync(join(groups ?? "", id, "cgroup.procs"), "latin1")
            .trim()
            .split("\n");
          expect(inside.length).toBeGreaterThanOrEqual(2);
          bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
          expect(await bench.final(id)).toMatchObject({ status: "killed", survivors: [] });
          expect(pidsWith(mark)).toEqual([]);
          bench.acknowledge(id);
        },
      );

      it.runIf(walls.enforces.includes("user"))(
        "holds for another user too (skipped where the tests do not run as root)",
        async () => {
          write({ users: ["nobody"], sandbox: { with: "bwrap", writable: [writable] } });
          const script =
            "id -un; id -G; grep CapEff /proc/self/status; cat; echo x >/var/tmp/drover-wrote || echo no; kill -9 $PPID || echo no";
          const text = await said(`{ ${script}; } 2>/dev/null`, { user: "nobody", stdin: { text: "in\n" } });
          expect(text).toMatch(/^nobody\n65534\nCapEff:\t0+\nin\nno\nno\n$/);
          const id = bench.start("read -r code; exit $code", { user: "nobody", stdin: "pipe", cwd: "/" });
          await bench.running(id);
          await bench.supervisor.stdin(id, Buffer.from("6\n"), false);
          expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 6 });
        },
      );
    },
  );
});
