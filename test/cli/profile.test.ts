import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveConnection } from "../../cli/connection.ts";
import { profilesPath, readProfile, saveProfile } from "../../cli/profile.ts";

let home: string;
let path: string;
const local = { url: "http://127.0.0.1:4600", token: "local-token" };

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "drover-profile-"));
  path = profilesPath({ HOME: home });
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("the profiles file", () => {
  it("lies in the user's configuration folder; a relative XDG_CONFIG_HOME is ignored", () => {
    expect(path).toBe(join(home, ".config/drover/profiles.json"));
    expect(profilesPath({ HOME: home, XDG_CONFIG_HOME: "/etc/mine" })).toBe("/etc/mine/drover/profiles.json");
    expect(profilesPath({ HOME: home, XDG_CONFIG_HOME: "mine" })).toBe(path);
  });

  it("is readable by its owner alone, from its first moment on, and leaves no draft behind", async () => {
    await saveProfile(path, "local", local);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(path, ".."))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(path, ".."))).toEqual(["profiles.json"]);
  });

  it("becomes 0600 again when it was opened to others", async () => {
    await saveProfile(path, "local", local);
    await rm(path);
    await writeFile(path, JSON.stringify({ version: 1, profiles: {} }), { mode: 0o644 });
    await saveProfile(path, "local", local);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("keeps what else is in it, and the newest of one name", async () => {
    await saveProfile(path, "work", { url: "https://work", token: "w" });
    await saveProfile(path, "local", local);
    await saveProfile(path, "local", { ...local, token: "newer" });
    expect(await readProfile(path, "work")).toEqual({ url: "https://work", token: "w" });
    expect(await readProfile(path)).toEqual({ ...local, token: "newer" });
  });

  it("is whole at every moment while it is written again and again", async () => {
    await saveProfile(path, "local", local);
    const writing = Promise.all(Array.from({ length: 50 }, () => saveProfile(path, "local", local)));
    for (let reads = 0; reads < 200; reads++) JSON.parse(await readFile(path, "utf8"));
    await writing;
  });

  it("is named when it holds something else", async () => {
    await saveProfile(path, "local", local);
    await writeFile(path, "{");
    await expect(readProfile(path)).rejects.toThrow(`${path} does not hold profiles`);
  });
});

describe("the connection", () => {
  const env = (more: Record<string, string> = {}) => ({ HOME: home, ...more });
  beforeEach(() => saveProfile(path, "local", local));

  it("is the profile `local` when nothing else is said", async () => {
    expect(await resolveConnection({}, env())).toEqual(local);
  });

  it("goes by flag, then environment, then profile", async () => {
    const set = env({ DROVER_URL: "http://env", DROVER_TOKEN: "env" });
    expect(await resolveConnection({}, set)).toEqual({ url: "http://env", token: "env" });
    expect(await resolveConnection({ url: "http://flag", token: "flag" }, set)).toEqual({
      url: "http://flag",
      token: "flag",
    });
    expect(await resolveConnection({ profile: "local" }, set)).toEqual(local);
  });

  it("never sends a profile's token to another place", async () => {
    await expect(resolveConnection({ url: "http://evil" }, env())).rejects.toThrow(
      "no token for http://evil",
    );
    expect(await resolveConnection({ url: `${local.url}/` }, env())).toMatchObject({ token: local.token });
  });
});
