import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { runCli, startCli } from "../cli/run-cli.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "gone"] });
type Input = { input?: string | Buffer; stdin?: "open" | "ignore" };
const begin = (words: string[], input: Input = { stdin: "ignore" }) =>
  startCli(words, { env: product.cliEnv, ...input });
const exec = (words: string[], input?: Input) => begin(["exec", "-n", "n1", ...words], input).ended;
const latest = async (): Promise<ProcessView | undefined> =>
  (await product.api.get<{ data: ProcessView[] }>("GET /v1/processes", { query: { limit: 1 } })).data[0];

describe("drover exec", () => {
  it("keeps stdout and stderr apart, byte for byte, and ends with the command's code", async () => {
    expect(await exec(["-c", "printf 'o\\377ut'; printf err >&2; exit 3"])).toMatchObject({
      code: 3,
      stdout: "o\ufffdut",
      stderr: "err",
    });
    expect(await exec(["--", "printf", "%s|", "a b", "$HOME", "*"])).toMatchObject({
      code: 0,
      stdout: "a b|$HOME|*|",
      stderr: "",
    });
  });

  it.each<[string, string[], number]>([
    ["its own code", ["-c", "exit 255"], 255],
    ["128+n by signal", ["-c", "kill -9 $$"], 128 + constants.signals.SIGKILL],
    ["128+n by another signal", ["-c", "kill -USR1 $$"], 128 + constants.signals.SIGUSR1],
    ["the shell's 127", ["-c", "no-such-program-anywhere"], 127],
    ["the shell's 126", ["-c", "/etc"], 126],
    ["124 when timed out", ["--timeout", "300ms", "-c", "sleep 600"], 124],
    ["125 for a folder that is not there", ["--cwd", "/no/such/folder", "-c", "true"], 125],
    ["125 when refused", ["-c", "rm -rf /"], 125],
    ["2 for a wrong option", ["--no-such-option", "-c", "true"], 2],
    ["2 for nothing to run", [], 2],
    ["2 for a field that is wrong", ["--cwd", "relative", "-c", "true"], 2],
  ])("ends with %s", async (_what, words, code) => {
    const ended = await exec(words);
    expect(ended.code).toBe(code);
    if (code === 2 || code === 125) expect(ended.stderr).toMatch(/./);
  });

  it("ends with 255 where the node is offline, and with 125 where it is unknown", async () => {
    await product.agents.get("gone")?.stop();
    await product.status("gone", "offline");
    expect(await begin(["exec", "-n", "gone", "--", "true"]).ended).toMatchObject({
      code: 255,
      stdout: "",
      stderr: expect.stringContaining("no live connection"),
    });
    expect((await begin(["exec", "-n", "nowhere", "--", "true"]).ended).code).toBe(125);
  });

  it("passes all of its stdin on, then its end", async () => {
    const input = Buffer.alloc(700_000, "all bytes \0\xff\n", "latin1");
    const { code, stdout } = await exec(["-c", "cat | cksum; exit 4"], { input });
    expect({ code, stdout }).toEqual({ code: 4, stdout: `${cksum(input)} ${input.length}\n` });
  });

  it("ends with a command that does not read its stdin", async () => {
    expect(await exec(["-c", "exit 5"], { input: Buffer.alloc(300_000, "x") })).toMatchObject({ code: 5 });
  });

  it("shows output while it comes", async () => {
    const running = begin(["exec", "-n", "n1", "-c", 'echo first; read -r line; echo "$line"'], {
      stdin: "open",
    });
    await running.seen("first");
    running.child.stdin?.end("second\n");
    expect(await running.ended).toMatchObject({ code: 0, stdout: "first\nsecond\n" });
  });

  it("passes Ctrl-C on as INT to the whole tree", async () => {
    const running = begin([
      "exec",
      "-n",
      "n1",
      "-c",
      "trap 'echo interrupted; exit 9' INT; echo up; while :; do sleep 0.1; done",
    ]);
    await running.seen("up");
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 9, stdout: "up\ninterrupted\n" });
  });

  it("stops the command at a second Ctrl-C", async () => {
    const running = begin([
      "exec",
      "-n",
      "n1",
      "--grace",
      "300ms",
      "-c",
      "trap 'echo no; sleep 0.4; echo still here' INT; trap '' TERM; echo up; while :; do sleep 0.1; done",
    ]);
    await running.seen("up");
    running.child.kill("SIGINT");
    // Presses within a quarter of a second count as one.
    await running.seen("still here");
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(128 + constants.signals.SIGKILL);
    expect(await latest()).toMatchObject({ status: "killed", reason: "stopped" });
  });
});

/** The checksum of POSIX `cksum`. */
function cksum(bytes: Buffer): number {
  const step = (crc: number, byte: number): number => {
    let next = crc ^ (byte << 24);
    for (let bit = 0; bit < 8; bit++) next = next & 0x80000000 ? (next << 1) ^ 0x04c11db7 : next << 1;
    return next;
  };
  let crc = 0;
  for (const byte of bytes) crc = step(crc, byte);
  for (let length = bytes.length; length > 0; length = Math.floor(length / 256))
    crc = step(crc, length % 256);
  return ~crc >>> 0;
}

describe("the other verbs", () => {
  const drover = (...words: string[]) => runCli(words, { env: product.cliEnv, stdin: "ignore" });
  const run = async (text: string, ...options: string[]) =>
    (await drover("run", "-n", "n1", ...options, "-c", text)).stdout.trim();

  it("run prints the id, ps lists what lives, wait tells the ending, logs what it wrote", async () => {
    const id = await run(
      'seq 1 3; echo err >&2; read -r line; echo "got $line"; exit 6',
      "--stdin",
      "--label",
      "job=a",
    );
    expect(id).toMatch(/^proc_\w+$/);
    const { stdout } = await drover("ps", "--label", "job=a");
    expect(stdout).toMatch(new RegExp(`${id} +n1 +running`));
    expect(await drover("send", id, "hello", "world")).toMatchObject({ code: 0 });
    expect((await drover("wait", id)).code).toBe(6);
    expect(await drover("logs", id)).toMatchObject({ code: 0, stdout: "1\n2\n3\nerr\ngot hello world\n" });
    expect((await drover("logs", id, "--tail", "1")).stdout).toBe("got hello world\n");
    expect((await drover("ps", "--label", "job=a")).stdout).not.toContain(id);
    expect((await drover("ps", "-a", "--label", "job=a")).stdout).toContain(id);
    const listed = JSON.parse(
      (await drover("ps", "-a", "--label", "job=a", "-o", "json")).stdout,
    ) as ProcessView[];
    expect(listed).toMatchObject([{ id, status: "exited", exitCode: 6 }]);
  });

  it("logs -f goes on until the end", async () => {
    const id = await run("echo one; read -r line; echo two", "--stdin");
    const following = begin(["logs", "-f", id]);
    await following.seen("one");
    await drover("send", id, "--eof");
    expect(await following.ended).toMatchObject({ code: 0, stdout: "one\ntwo\n" });
  });

  it("stop and kill end what they name, with all it started", async () => {
    const [one, other] = [
      await run("echo up; sleep 600 & sleep 600"),
      await run("trap '' TERM; echo up; sleep 600"),
    ];
    for (const id of [one, other]) await product.api.printed(id, "up");
    expect((await drover("stop", one)).code).toBe(0);
    expect(await product.api.process(one)).toMatchObject({
      status: "killed",
      reason: "stopped",
      survivors: [],
    });
    expect((await drover("kill", other)).code).toBe(0);
    expect(await product.api.final(other)).toMatchObject({
      status: "killed",
      reason: "signal",
      signal: "KILL",
    });
    expect((await drover("wait", one, other)).code).toBe(128 + constants.signals.SIGTERM);
  });

  it("nodes shows them with their state", async () => {
    const { code, stdout } = await drover("nodes");
    expect(code).toBe(0);
    expect(stdout).toMatch(/\bn1\b.*online/);
  });

  it("says in one line what is wrong: an unknown process, a token, a control plane that is away", async () => {
    for (const [env, words] of [
      [{}, ["logs", "proc_00000000000000000000000000"]],
      [{ DROVER_TOKEN: "wrong" }, ["nodes"]],
      [{ DROVER_URL: "http://127.0.0.1:1" }, ["nodes"]],
    ] as const) {
      const ended = await runCli([...words], { env: { ...product.cliEnv, ...env }, stdin: "ignore" });
      expect(ended).toMatchObject({ code: 125, stdout: "" });
      expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
    }
  });
});
