import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Bench, newMark, pidsWith } from "../../support/engine.ts";

describe("what a command is given", () => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench()));
  afterAll(() => bench.close());
  const b = (text: string) => new TextEncoder().encode(text);

  it("has an empty stdin unless told otherwise", async () => {
    const ended = await bench.run("cat; echo done; read -r x || echo eof");
    expect(await bench.text(ended.id)).toBe("done\neof\n");
  });

  it("reads a given text on stdin", async () => {
    const text = `${"é".repeat(100_000)}'"$HOME\n`;
    const ended = await bench.run("cat", { stdin: { text } });
    expect(await bench.text(ended.id)).toBe(text);
  });

  it("reads an open stdin piece by piece until its end", async () => {
    const id = bench.start("cat; echo end", { stdin: "pipe" });
    expect(await bench.supervisor.stdin(id, b("one\n"), false)).toEqual({ value: { writtenBytes: 4 } });
    await bench.running(id);
    expect(await bench.supervisor.stdin(id, b("two\n"), true)).toEqual({ value: { writtenBytes: 4 } });
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 0, survivors: [] });
    expect(await bench.text(id)).toBe("one\ntwo\nend\n");
    expect(await bench.supervisor.stdin(id, b("late"), false)).toMatchObject({
      error: { code: "process_not_running" },
    });
  });

  it("gives an end of file that comes the moment after the start", async () => {
    for (let round = 0; round < 8; round++) {
      const ids = Array.from({ length: 8 }, () => bench.start("cat", { stdin: "pipe" }));
      await Promise.all(ids.map((id) => bench.supervisor.stdin(id, b("x"), true)));
      for (const id of ids) expect(await bench.final(id)).toMatchObject({ exitCode: 0, totalBytes: 1 });
    }
  });

  it("takes an end of file also from the one whose last line it was, and who ends meanwhile", async () => {
    for (let round = 0; round < 16; round++) {
      const ids = Array.from({ length: 8 }, () => bench.start("read -r line", { stdin: "pipe" }));
      const answers = await Promise.all(ids.map((id) => bench.supervisor.stdin(id, b("it\n"), true)));
      expect(answers).toEqual(ids.map(() => ({ value: { writtenBytes: 3 } })));
      for (const id of ids) expect(await bench.final(id)).toMatchObject({ exitCode: 0 });
    }
  });

  const staysReader = String.raw`s/ 5<&-$/; sleep 0.3; exec 5<\&-/`;
  it.each([
    ["the keeper of the pipe is known", staysReader],
    ["the command has opened the pipe", `${staysReader}; s/^exec </sleep 0.3; exec </`],
  ])("gives an end of file that comes before %s", async (_when, slower) => {
    // A shell that stands still in that moment, and where the pipe has a reader for a moment before.
    const shell = join(bench.dir, "slow-shell");
    const script = `sed '${slower}' "$1" >"$1.slow"; exec /bin/sh "$1.slow"`;
    writeFileSync(shell, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const slow = new Bench({ shell });
    onTestFinished(() => slow.close());
    const id = slow.start("cat", { stdin: "pipe" });
    await slow.supervisor.stdin(id, b("x"), true);
    expect(await slow.final(id)).toMatchObject({ exitCode: 0, totalBytes: 1 });
  });

  it("takes more than a pipe holds, in order, from a slow reader", async () => {
    const id = bench.start("sleep 0.3; cat | md5sum", { stdin: "pipe" });
    const block = b("0123456789abcdef".repeat(16_384));
    const answers = await Promise.all([0, 1, 2, 3].map((n) => bench.supervisor.stdin(id, block, n === 3)));
    expect(answers.every((answer) => "value" in answer)).toBe(true);
    await bench.final(id);
    const expected = await bench.run(
      "i=0; while [ $i -lt 65536 ]; do echo 0123456789abcdef; i=$((i+1)); done | tr -d '\\n' | md5sum",
    );
    expect(await bench.text(id)).toBe(await bench.text(expected.id));
  });

  it("says that a command does not read its stdin, or was not given one", async () => {
    const id = bench.start("exec <&-; sleep 30", { stdin: "pipe" });
    await bench.running(id);
    await bench.until(id, () => true);
    expect(await bench.supervisor.stdin(id, b("x".repeat(200_000)), false)).toHaveProperty("error");
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    const other = bench.start("sleep 30");
    expect(await bench.supervisor.stdin(other, b("x"), false)).toMatchObject({ error: { code: "conflict" } });
    bench.supervisor.stop(other, { graceMs: 0, reason: "stopped" });
  });

  it("leaves no keeper behind, whoever ends the command", async () => {
    const mark = newMark();
    const id = bench.start(`sleep ${mark}`, { stdin: "pipe" });
    await bench.running(id);
    await bench.supervisor.signal(id, "KILL", "tree");
    await bench.final(id);
    expect(pidsWith(id)).toEqual([]);
  });

  it("ends when it is stopped in the moment of its start, stdin and all", async () => {
    const ids = Array.from({ length: 24 }, () => {
      const id = bench.start("cat", { stdin: "pipe" });
      void bench.supervisor.stdin(id, b("x\n"), false);
      return id;
    });
    for (const [n, id] of ids.entries()) {
      if (n % 2 === 0) await bench.until(id, (report) => report.status === "running");
      bench.supervisor.stop(id, { graceMs: 50, reason: "stopped" });
    }
    for (const id of ids) expect(["killed", "canceled"]).toContain((await bench.final(id)).status);
    for (const id of ids) expect(pidsWith(id)).toEqual([]);
  });

  it("sees no end of stdin before there is one, however early the first bytes come", async () => {
    const ids = Array.from({ length: 24 }, () => bench.start("cat", { stdin: "pipe" }));
    for (const id of ids)
      expect(await bench.supervisor.stdin(id, b("early\n"), false)).toHaveProperty("value");
    for (const id of ids) expect(await bench.supervisor.stdin(id, b("late\n"), true)).toHaveProperty("value");
    for (const id of ids) {
      expect(await bench.final(id)).toMatchObject({ exitCode: 0 });
      expect(await bench.text(id)).toBe("early\nlate\n");
    }
  });

  it("gets every character as it was written", async () => {
    const script = `printf '%s\\n' 'it'"'"'s' "a  b" '$HOME' \`echo bt\` "$(printf 'x\\ny')"\ncat <<'EOF'\nline $HOME 'q' "d"\nEOF\nprintf '%s\\n' '{"k":"\\\\n"}'`;
    const ended = await bench.run(script);
    expect(await bench.text(ended.id)).toBe(
      `it's\na  b\n$HOME\nbt\nx\ny\nline $HOME 'q' "d"\n{"k":"\\\\n"}\n`,
    );
    const words = ["printf", "%s|", "a'b", "", "$(id)", "-n", "\n", "é"];
    expect(await bench.text((await bench.run("", { command: null, argv: words })).id)).toBe(
      "a'b||$(id)|-n|\n|é|",
    );
  });

  it("finds its environment as it was given, whatever names the waiting shell uses itself", async () => {
    const env = { s: "S", u: "U", c: "C", k: "K", IFS: "x", PATH: "" };
    const ended = await bench.run('echo "$s $u $c $k [$PATH]"', { env });
    expect(await bench.text(ended.id)).toBe("S U C K []\n");
    const piped = bench.start('read -r line; echo "$line $k"', { env, stdin: "pipe" });
    await bench.supervisor.stdin(piped, b("in\n"), false);
    await bench.final(piped);
    expect(await bench.text(piped)).toBe("in K\n");
  });

  it("runs a text that is longer than an argument may be", async () => {
    const ended = await bench.run(`${"# x\n".repeat(200_000)}echo ok`);
    expect(await bench.text(ended.id)).toBe("ok\n");
  });

  it("runs in the folder it was given, also one with spaces, and says what is wrong with one that is none", async () => {
    const folder = mkdtempSync(join(tmpdir(), "with space-"));
    expect(await bench.text((await bench.run("pwd", { cwd: folder })).id)).toBe(`${folder}\n`);
    rmSync(folder, { recursive: true });
    expect(await bench.run("pwd", { cwd: folder })).toMatchObject({
      status: "failed",
      reason: "cwd_not_found",
      detail: expect.stringContaining(folder),
      exitCode: null,
      pid: null,
    });
    expect(await bench.run("pwd", { cwd: "/etc/passwd" })).toMatchObject({
      status: "failed",
      reason: "cwd_not_found",
      detail: expect.stringContaining("not a folder"),
    });
  });

  it("runs nicely when asked", async () => {
    expect(await bench.text((await bench.run("nice", { nice: 7 })).id)).toBe("7\n");
  });

  it("is a likelier victim of the memory killer than the agent", async () => {
    expect(await bench.text((await bench.run("cat /proc/self/oom_score_adj")).id)).toBe("500\n");
  });
});
