// The package as it is published: bin/, the bundle, no sources. A copy, so that neither a change of the sources nor
// another build has a part in a run.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const checkout = join(import.meta.dirname, "..");
const buildWithinMs = 120_000;

/** Builds the bundle if it is not fresh and lays the package into a folder; answers the path of its `drover`. */
export async function layShipped(folder: string): Promise<string> {
  await promisify(execFile)(process.execPath, [join(checkout, "build.mjs")], { timeout: buildWithinMs });
  const current = (await readFile(join(checkout, "dist/current"), "utf8")).trim();
  await mkdir(join(folder, "dist"), { recursive: true });
  for (const part of ["package.json", "bin", "dist/current", join("dist", current)])
    await cp(join(checkout, part), join(folder, part), { recursive: true });
  await symlink(join(checkout, "node_modules"), join(folder, "node_modules"));
  return join(folder, "bin/drover.js");
}
