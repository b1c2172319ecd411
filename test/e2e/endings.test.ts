import { describe, expect, it } from "vitest";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1"] });
const exec = (command: string, more: Record<string, unknown> = {}) =>
  product.api.exec({ node: "n1", command, ...more });

describe("the ending of a process", () => {
  it.each([0, 1, 2, 3, 124, 125, 126, 127, 128, 130, 137, 141, 143, 255])(
    "is its exit code %d",
    async (code) => {
      const done = await exec(`echo bye; exit ${code}`);
      expect(done).toMatchObject({
        status: "exited",
        exitCode: code,
        signal: null,
        reason: null,
        result: { text: "bye\n", truncated: null },
      });
      expect(done.pid).toBeGreaterThan(0);
      expect(Date.parse(done.exitedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(done.startedAt ?? ""));
    },
  );

  it.each(["KILL", "TERM", "HUP", "SEGV", "USR1"])(
    "names %s when that ended it and nobody here sent it",
    async (signal) => {
      expect(await exec(`kill -${signal} $$`)).toMatchObject({ status: "exited", exitCode: null, signal });
    },
  );

  it("is the shell's code for a program that is not there or may not run", async () => {
    expect(await exec("no-such-program-anywhere")).toMatchObject({ status: "exited", exitCode: 127 });
    expect(await exec("/etc")).toMatchObject({ status: "exited", exitCode: 126 });
  });

  it("is a failed start for a program given as argv, or a folder, that is not there", async () => {
    const missing = await product.api.exec({ node: "n1", argv: ["no-such-program-anywhere"] });
    expect([missing.status, missing.exitCode]).toSatisfy(
      ([status, code]) => (status === "failed" && code === null) || (status === "exited" && code === 127),
    );
    const nowhere = await exec("true", { cwd: "/no/such/folder" });
    expect(nowhere).toMatchObject({
      status: "failed",
      reason: "cwd_not_found",
      exitCode: null,
      pid: null,
      startedAt: null,
    });
    expect(nowhere.detail).toContain("/no/such/folder");
  });

  it("is a result when the time limit ends it, with what it wrote until then", async () => {
    expect(await exec("echo before; sleep 600", { timeoutMs: 400 })).toMatchObject({
      status: "timed_out",
      reason: "hard_timeout",
      exitCode: null,
      result: { text: "before\n" },
    });
    expect(await exec("echo once; sleep 600", { idleTimeoutMs: 400 })).toMatchObject({
      status: "timed_out",
      reason: "idle_timeout",
      result: { text: "once\n" },
    });
  });

  it("does not come early where a limit is huge", async () => {
    const started = await product.api.start({
      node: "n1",
      command: "read line; echo got $line",
      stdin: "pipe",
      timeoutMs: 30 * 24 * 3600 * 1000,
      idleTimeoutMs: 10 * 365 * 24 * 3600 * 1000,
    });
    await product.api.get(`POST /v1/processes/${started.id}/stdin`, { body: { text: "it\n", eof: true } });
    expect(await product.api.final(started.id)).toMatchObject({
      status: "exited",
      exitCode: 0,
      timeoutMs: 2_592_000_000,
    });
  });

  it("is the output's limit when it writes more than it may", async () => {
    const done = await exec("yes", { limits: { outputBytes: 100_000 } });
    expect(done).toMatchObject({ status: "timed_out", reason: "log_limit" });
    expect(done.output.totalBytes).toBeGreaterThan(100_000);
  });

  it("is the memory's limit when all of it together takes more than it may", async () => {
    const done = await exec("tail /dev/zero; echo after", { limits: { memBytes: 64 * 1024 * 1024 } });
    expect(done).toMatchObject({ status: "timed_out", reason: "mem_limit", result: { text: "" } });
  });

  it("is killed/stopped after a stop, and killed/signal after a signal", async () => {
    const stopped = await product.api.start({ node: "n1", command: "sleep 600 & sleep 600" });
    expect(await product.api.stop(stopped.id, 5000)).toMatchObject({
      status: "killed",
      reason: "stopped",
      survivors: [],
    });
    const signaled = await product.api.start({ node: "n1", command: "echo up; sleep 600" });
    await product.api.printed(signaled.id, "up");
    await product.api.get(`POST /v1/processes/${signaled.id}/signal`, { body: { signal: "SIGUSR1" } });
    expect(await product.api.final(signaled.id)).toMatchObject({
      status: "killed",
      reason: "signal",
      signal: "USR1",
      exitCode: null,
    });
  });

  it("is its own code when it handles the signal that stops it", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done",
    });
    await product.api.printed(id, "up");
    const done = await product.api.stop(id, 5000);
    expect(done).toMatchObject({ exitCode: 7, signal: null });
    expect((await product.api.output(id)).text).toMatch(/^up\n(Terminated\n)?bye\n$/);
  });

  it("comes with TERM also in the moment of its start, not only at the end of the grace", async () => {
    for (let round = 0; round < 8; round++) {
      const { id } = await product.api.start({ node: "n1", command: "sleep 600 & sleep 600" });
      const done = await product.api.stop(id, 60_000);
      expect([done.status, done.signal]).toSatisfy(
        ([status, signal]) => status === "canceled" || (status === "killed" && signal === "TERM"),
      );
      expect(done.survivors).toEqual([]);
    }
  });
});

describe("what a command gets", () => {
  it("has its text on stdin, its environment, its folder and its names", async () => {
    const done = await exec('cat; echo "$A|$PWD|$DROVER_NODE|$DROVER_PROCESS_ID"', {
      stdin: { text: "in ü\n" },
      env: { A: "a b\n'$x" },
      cwd: "/usr",
    });
    expect(done.result.text).toBe(`in ü\na b\n'$x|/usr|n1|${done.id}\n`);
  });

  it("is at the end of its input at once where none is given", async () => {
    expect((await exec("cat; echo over")).result.text).toBe("over\n");
  });

  it("passes argv as it is, without a shell", async () => {
    const done = await product.api.exec({
      node: "n1",
      argv: ["printf", "%s|", "$HOME", "a b", "*", "", "ü"],
    });
    expect(done.result.text).toBe("$HOME|a b|*||ü|");
  });

  it("keeps stdout and stderr apart when asked", async () => {
    const done = await exec("echo out; echo err >&2; exit 3", { output: "split" });
    expect(done).toMatchObject({
      exitCode: 3,
      result: { stdout: { text: "out\n" }, stderr: { text: "err\n" } },
    });
  });

  it("takes a text that is longer than one argument may be", async () => {
    const text = `: ${"x".repeat(900_000)}\necho ran`;
    expect(await exec(text)).toMatchObject({ exitCode: 0, result: { text: "ran\n" } });
  });
});
