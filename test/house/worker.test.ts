import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../support/worker-bundle.ts";

const root = join(import.meta.dirname, "../..");
const maxBytes = 400_000;

describe("the Worker", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "drover-house-worker-"));
    await bundleWorker(folder);
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("is bundled for a deploy without an account, in at most 400 kB as it is sent", async () => {
    const { length } = gzipSync(await readFile(join(folder, "worker.js")));
    console.log(`the Worker: ${length} bytes, gzip`);
    expect(length).toBeLessThanOrEqual(maxBytes);
  });

  it("says the version of the package", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    expect(await readFile(join(root, "wrangler.toml"), "utf8")).toContain(
      String.raw`__DROVER_VERSION__ = "\"${version}\""`,
    );
  });
});
