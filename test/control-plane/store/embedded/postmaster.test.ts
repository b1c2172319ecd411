import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../../../..");
const look = `import { isPostmasterOf } from "./control-plane/store/embedded/postmaster.ts";
console.log(await isPostmasterOf("/some/cluster", process.ppid));`;

it("does not take a process for gone that it may not look at", async () => {
  // Node's own permissions stand for a system that hides the processes of others, and for Deno's.
  const words = ["--permission", `--allow-fs-read=${root}/*`, "--input-type=module", "-e", look];
  await expect(promisify(execFile)(process.execPath, words, { cwd: root })).rejects.toThrow(
    /ERR_ACCESS_DENIED[^]*\/proc\/\d+\/cmdline/,
  );
});
