import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

/** Puts into the folder what a deploy of the Worker would send; without an account, and with nobody's settings. */
export async function bundleWorker(folder: string): Promise<void> {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_LOG_PATH: join(folder, "logs"),
  };
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  await run(process.execPath, [wrangler, "deploy", "--dry-run", "--outdir", folder], { cwd: root, env });
}
