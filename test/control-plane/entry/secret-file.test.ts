import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keptSecret } from "../../../control-plane/entry/secret-file.ts";

describe("a secret in the data folder", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "drover-secret-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("is made once, for its owner only, and kept", async () => {
    const first = await keptSecret(folder, "token", () => "one");
    expect(first).toEqual({ secret: "one", path: join(folder, "token"), made: true });
    expect((await stat(first.path)).mode & 0o777).toBe(0o600);
    expect(await keptSecret(folder, "token", () => "other")).toMatchObject({ secret: "one", made: false });
  });

  it("is the same for all of several starts at once, and nothing else is left behind", async () => {
    const made = await Promise.all(
      [1, 2, 3, 4].map((at) => keptSecret(folder, "token", () => `secret ${at}`)),
    );
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(1);
    expect(await readdir(folder)).toEqual(["token"]);
    expect((await readFile(join(folder, "token"), "utf8")).trim()).toBe(made[0]?.secret);
  });

  it("that is empty, or in a place that cannot be used, is an error that names the file", async () => {
    await writeFile(join(folder, "token"), "\n");
    const named = { name: "SettingError", message: expect.stringContaining(join(folder, "token")) };
    await expect(keptSecret(folder, "token", () => "x")).rejects.toMatchObject(named);
    await expect(keptSecret(join(folder, "token"), "inside", () => "x")).rejects.toMatchObject({
      name: "SettingError",
    });
  });
});
