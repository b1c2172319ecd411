import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../../../node-agent/log.ts";
import { accountOf, captureBase, commandEnvironment } from "../../../node-agent/process/environment.ts";
import { eventually } from "../../support/eventually.ts";
import { isGone } from "./gone.ts";

let home: string;
let lines: string[];
beforeEach(() => {
  lines = [];
  home = mkdtempSync(join(tmpdir(), "drover-login-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const agent = { PATH: "/opt/agent/bin:/app/node_modules/.bin:/usr/bin:/bin" };

/** Captures the login of an account whose profile is this text. */
const withProfile = (profile: string, given: Given = {}) => {
  writeFileSync(join(home, ".profile"), profile);
  const { agent: more, ...needs } = given;
  const log = createLog({ format: "json", write: (line) => lines.push(line) });
  return captureBase({ ...agent, ...more }, { name: "ada", home, shell: "/bin/sh" }, { ...needs, log });
};
type Given = { agent?: Record<string, string>; limitMs?: number; signal?: AbortSignal };

const pidIn = (file: string): number => Number(readFileSync(join(home, file), "utf8"));
const isWritten = (file: string) => eventually(() => existsSync(join(home, file)));

describe("the login environment", () => {
  test("has what the profile exports of the listed names", async () => {
    const base = await withProfile(
      "export PATH=/opt/mine:$PATH TZ=Asia/Tokyo LD_LIBRARY_PATH=/opt/lib XDG_CACHE_HOME=/c\n",
    );
    expect(base["PATH"]?.split(":")[0]).toBe("/opt/mine");
    expect(base).toMatchObject({ TZ: "Asia/Tokyo", LD_LIBRARY_PATH: "/opt/lib", XDG_CACHE_HOME: "/c" });
  });

  test("names the account, a dumb terminal and a UTF-8 locale", async () => {
    const base = await withProfile("export TERM=xterm\n");
    expect(base).toMatchObject({
      HOME: home,
      USER: "ada",
      LOGNAME: "ada",
      SHELL: "/bin/sh",
      TERM: "dumb",
      LANG: "C.UTF-8",
    });
  });

  test("keeps back what the agent was started with, and what the profile exports beside the list", async () => {
    const secrets = {
      DATABASE_URL: "postgres://x",
      DROVER_ADMIN_TOKEN: "t",
      npm_config_cache: "/n",
      API_KEY: "k",
      LD_LIBRARY_PATH: "/agent",
    };
    const base = await withProfile("export GITHUB_TOKEN=g DROVER_KEY=d\n", { agent: secrets });
    const known = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|TERM)$/;
    expect(Object.keys(base).filter((name) => !known.test(name))).toEqual([]);
  });

  test("passes on proxies and certificates of the agent", async () => {
    const given = {
      https_proxy: "http://p:1",
      NO_PROXY: "localhost",
      SSL_CERT_FILE: "/ca.pem",
      LC_TIME: "C",
      TMPDIR: "/var/tmp",
    };
    expect(await withProfile("", { agent: given })).toMatchObject(given);
  });

  test("has no folder of the agent's own packages on its PATH, and always the usual ones", async () => {
    const path = (await withProfile("export PATH=/only/mine\n"))["PATH"]?.split(":");
    expect(path).toEqual(["/only/mine", "/opt/agent/bin", "/usr/bin", "/bin", "/usr/local/bin"]);
  });

  test("survives a profile that prints, reads and writes NUL bytes", async () => {
    const base = await withProfile(
      "echo hello; printf 'A=1\\0B=2\\0'; read answer; echo \"[$answer]\"; export TZ=UTC\n",
    );
    expect(base["TZ"]).toBe("UTC");
    expect(base).not.toHaveProperty("A");
  });

  test("is the agent's own allowed part when the profile exits", async () => {
    expect(await withProfile("export TZ=Asia/Tokyo; exit 3\n", { agent: { TZ: "UTC" } })).toMatchObject({
      TZ: "UTC",
      HOME: home,
    });
  });

  test("is the agent's own allowed part when the shell cannot be run", async () => {
    const base = await captureBase({}, { name: "ada", home, shell: join(home, "missing") });
    expect(base["PATH"]?.split(":")).toEqual(expect.arrayContaining(["/usr/local/bin", "/usr/bin", "/bin"]));
  });

  test("does not wait for a profile that hangs, and ends all of its group", async () => {
    const base = await withProfile(`sleep 300 & echo $! > ${home}/pid; sleep 300\n`, {
      agent: { TZ: "UTC" },
      limitMs: 1500,
    });
    expect(base["TZ"]).toBe("UTC");
    await isGone(pidIn("pid"));
  });

  test("does not wait for what a profile leaves in the background, and ends it", async () => {
    const base = await withProfile(`sleep 300 & echo $! > ${home}/pid; export TZ=UTC\n`, { limitMs: 60_000 });
    expect(base["TZ"]).toBe("UTC");
    await isGone(pidIn("pid"));
  });

  test("lets what a profile leaves in the background come to its end", async () => {
    const work = `(touch ${home}/lock; while ! [ -e ${home}/known ]; do sleep 0.01; done; echo; rm ${home}/lock; touch ${home}/done) &`;
    await withProfile(`${work} while ! [ -e ${home}/lock ]; do sleep 0.01; done\n`, { limitMs: 60_000 });
    writeFileSync(join(home, "known"), "");
    await isWritten("done");
    expect(existsSync(join(home, "lock"))).toBe(false);
  });

  test("tells a profile that hangs to end, so that it can clean up, and then makes it", async () => {
    const stubborn = `sh -c "trap '' TERM; echo \\$\\$ >${home}/pid; while :; do sleep 1; done" &`;
    const tidy = `trap 'touch ${home}/clean; exit' TERM; while :; do sleep 0.1; done`;
    await withProfile(`${stubborn} ${tidy}\n`, { limitMs: 1000 });
    await isWritten("clean");
    await isGone(pidIn("pid"));
  });

  test("ends the shell when the agent stops, and has nothing to complain of", async () => {
    const stop = new AbortController();
    const captured = withProfile(`echo $$ >${home}/pid; touch ${home}/begun; sleep 300\n`, {
      signal: stop.signal,
      limitMs: 60_000,
    });
    await isWritten("begun");
    stop.abort();
    await captured;
    await isGone(pidIn("pid"));
    expect(lines).toEqual([]);
  });

  test.each([
    ["hangs", "sleep 300\n", "its profile was not through after 0.5 s"],
    ["exits", "exit 3\n", "its profile ended it (exit code 3)"],
    ["kills its shell", "kill -9 $$\n", "its profile ended it (by a signal)"],
  ])(
    "is missed with a warning that says why, and what to do, when the profile %s",
    async (_, profile, why) => {
      await withProfile(profile, { limitMs: 500 });
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
        expect.objectContaining({
          level: "warn",
          event: "login.failed",
          shell: "/bin/sh",
          why,
          instead: expect.stringContaining("the agent's own PATH"),
          mend: expect.stringContaining("start the agent again"),
        }),
      ]);
    },
  );

  test("does not wait for a service that a profile starts outside of its group", async () => {
    const service = `setsid sh -c 'echo $$ > ${home}/pid; exec sleep 300' & while ! [ -s ${home}/pid ]; do sleep 0.01; done`;
    const base = await withProfile(`${service}; export TZ=UTC\n`, { limitMs: 60_000 });
    process.kill(pidIn("pid"));
    expect(base["TZ"]).toBe("UTC");
  });

  test("does not wait for what a profile leaves in the background when it exits", async () => {
    const base = await withProfile("sleep 300 & exit 3\n", { agent: { TZ: "UTC" }, limitMs: 60_000 });
    expect(base["TZ"]).toBe("UTC");
  });

  test("gives up on a profile that never stops printing", async () => {
    expect(await withProfile("yes\n", { agent: { TZ: "UTC" }, limitMs: 60_000 })).toMatchObject({
      TZ: "UTC",
    });
  });
});

test("the account is that of the system, with a shell that runs commands", () => {
  const account = accountOf({ HOME: "/somewhere/else" });
  expect(account.home).not.toBe("/somewhere/else");
  expect(account.shell).toMatch(/^\/.*sh$/);
});

describe("the environment of a command", () => {
  const named = { id: "proc_1", chatId: "chat_1", nodeName: "n1" };

  test("is the login's, over it the request's", () => {
    const env = commandEnvironment({
      base: { PATH: "/bin", TZ: "UTC" },
      request: { PATH: "", A: "1" },
      process: named,
    });
    expect(env).toEqual({
      PATH: "",
      TZ: "UTC",
      A: "1",
      DROVER_PROCESS_ID: "proc_1",
      DROVER_CHAT_ID: "chat_1",
      DROVER_NODE: "n1",
    });
  });

  test("names a chat only when there is one, whatever the request says", () => {
    const request = { DROVER_CHAT_ID: "forged", DROVER_PROCESS_ID: "forged", DROVER_NODE: "forged" };
    expect(commandEnvironment({ base: {}, request, process: { ...named, chatId: null } })).toEqual({
      DROVER_PROCESS_ID: "proc_1",
      DROVER_NODE: "n1",
    });
  });
});
