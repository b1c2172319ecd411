#!/usr/bin/env node
// Finds a Node that is new enough and code that is fresh, and starts the CLI with them.
//
// Plain JavaScript without dependencies that any Node since 12 can parse. In order:
//   1. A Node older than 22.18 hands over to the one that the checkout has installed (own-node.js).
//   2. Without sources (the published package): the bundle that dist/current names.
//   3. In a checkout: the bundle of just these sources, built first where it is missing; the sources unbuilt with
//      DROVER_SOURCE=1, or where no bundle can be built (no esbuild, a folder of somebody else's).
import fs from "fs";
import path from "path";
import url from "url";
import { handOver, isNewEnough, shareFate } from "./own-node.js";
import { fingerprint } from "./sources.js";

const root = path.dirname(path.dirname(url.fileURLToPath(import.meta.url)));
const source = path.join(root, "cli", "main.ts");
const buildMs = 60000;

if (!isNewEnough(process.versions.node)) {
  handOver(root).catch(fail);
} else {
  shareFate();
  start().catch(fail);
}

async function start() {
  const cli = await import(url.pathToFileURL(await program()).href);
  process.exitCode = await cli.main(process.argv.slice(2));
}

async function program() {
  if (!fs.existsSync(source)) return published();
  if (process.env.DROVER_SOURCE === "1") return source;
  const bundled = path.join(root, "dist", fingerprint(root), "cli.js");
  if (fs.existsSync(bundled)) return bundled;
  if (canWrite()) await build();
  return fs.existsSync(bundled) ? bundled : source;
}

function published() {
  if (!fs.existsSync(path.join(root, "dist", "current")))
    throw new Error("neither sources nor a bundle in " + root);
  const name = fs.readFileSync(path.join(root, "dist", "current"), "utf8").trim();
  return path.join(root, "dist", name, "cli.js");
}

function canWrite() {
  const dist = path.join(root, "dist");
  try {
    fs.accessSync(fs.existsSync(dist) ? dist : root, fs.constants.W_OK);
    return true;
  } catch {
    return false; // another user's checkout, or a read-only disk: the sources run as they are
  }
}

// Quiet, since it is not what was asked for: where it fails, the sources run and say what is wrong with them.
// In a process of its own, so that a long-lived agent does not carry the builder's memory.
async function build() {
  const { spawnSync } = await import("child_process");
  spawnSync(process.execPath, [path.join(root, "build.mjs")], { stdio: "ignore", timeout: buildMs });
}

function fail(error) {
  const lacksPackages =
    error && error.code === "ERR_MODULE_NOT_FOUND" && !fs.existsSync(path.join(root, "node_modules"));
  process.stderr.write(
    lacksPackages
      ? "drover: its packages are not installed: run `npm ci` in " + root + "\n"
      : "drover: " + ((error && error.stack) || error) + "\n",
  );
  process.exit(lacksPackages ? 2 : 1);
}
