import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa, type Options, type ResultPromise } from "execa";
import { onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../..");

/** A preload under which Node says that it is old, unless it was started by one that said so. */
const pretendOld = `data:text/javascript,${encodeURIComponent(
  'if (!process.env.DROVER_OLD_NODE) Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.0" } })',
)}`;

/** A small checkout in a temporary folder with a space in its name: the house's own bin and build, another CLI. */
export interface Checkout {
  folder: string;
  put(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  bundles(): Promise<string[]>;
  drover(args: string[], options?: Options & { old?: boolean }): ResultPromise<{ reject: false }>;
}

/** Lays a checkout whose CLI is `main`, and removes it when the test is finished. */
export async function layCheckout(main: string): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), "drover check out-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["bin", "build.mjs", "package.json", "package-lock.json"])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const checkout: Checkout = {
    folder,
    put: (file, text) => put(join(folder, file), text),
    remove: (file) => rm(join(folder, file), { recursive: true }),
    bundles: async () => (await readdir(join(folder, "dist"))).filter((name) => name !== "current"),
    drover: (args, { old = false, ...options } = {}) =>
      execa(
        process.execPath,
        [...(old ? ["--import", pretendOld] : []), join(folder, "bin/drover.js"), ...args],
        {
          reject: false,
          stdin: "ignore",
          timeout: 30_000,
          ...options,
        },
      ) as ResultPromise<{ reject: false }>,
  };
  await checkout.put("cli/main.ts", main);
  return checkout;
}

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
