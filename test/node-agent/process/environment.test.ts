import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accountOf, captureBase, commandEnvironment } from "../../../node-agent/process/environment.ts";
import { isGone } from "./gone.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "drover-login-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const agent = { PATH: "/opt/agent/bin:/app/node_modules/.bin:/usr/bin:/bin" };

/** Captures the login of an account whose profile is this text. */
const withProfile = (profile: string, given: { agent?: Record<string, string>; limitMs?: number } = {}) => {
  writeFileSync(join(home, ".profile"), profile);
  return captureBase({ ...agent, ...given.agent }, { name: "ada", home, shell: "/bin/sh" }, given.limitMs);
};

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
    await isGone(Number(readFileSync(join(home, "pid"), "utf8")));
  });

  test("does not wait for what a profile leaves in the background, and ends it", async () => {
    const base = await withProfile(`sleep 300 & echo $! > ${home}/pid; export TZ=UTC\n`, { limitMs: 60_000 });
    expect(base["TZ"]).toBe("UTC");
    await isGone(Number(readFileSync(join(home, "pid"), "utf8")));
  });

  test("does not wait for a service that a profile starts outside of its group", async () => {
    const service = `setsid sh -c 'echo $$ > ${home}/pid; exec sleep 300' & while ! [ -s ${home}/pid ]; do sleep 0.01; done`;
    const base = await withProfile(`${service}; export TZ=UTC\n`, { limitMs: 60_000 });
    process.kill(Number(readFileSync(join(home, "pid"), "utf8")));
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
