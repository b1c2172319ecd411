import { createRequire } from "node:module";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const require = createRequire(import.meta.url);

/** The Deno that comes with the packages, whether or not its install script was run. */
const { runInstall } = require("deno/install_api.cjs") as { runInstall(): string };

/** What a control plane on a given database needs, and nothing more. */
export const leastPermissions = ["--allow-net", "--allow-env", "--allow-read"];

/** The words of a program that runs the control plane on Deno, out of its sources. */
export const denoControlPlane = (permissions = leastPermissions): string[] => [
  runInstall(),
  "run",
  "--no-prompt",
  ...permissions,
  join(root, "control-plane/entry/deno.ts"),
];

/** The words that run a task of deno.json. */
export const denoTask = (name: string): string[] => [
  runInstall(),
  "task",
  `--config=${join(root, "deno.json")}`,
  name,
];

/** Asks nobody whether there is a newer Deno, and compiles what it has compiled before only once. */
export const denoEnv = {
  DENO_NO_UPDATE_CHECK: "1",
  DENO_DIR: join(root, "node_modules/.cache/drover-deno"),
  NO_COLOR: "1",
};
