// Plain JavaScript that any Node since 12 can parse: it runs before it is known which Node this is.
import crypto from "crypto";
import fs from "fs";
import path from "path";

/** The folders whose sources end up in a bundle. */
export const rooms = ["shared", "drizzle", "control-plane", "node-agent", "cli", "sdk"];

// npm writes the last one at every install, so that a bundle never outlives the packages it was made of.
const alongside = ["package.json", "build.mjs", "bin/sources.js", "node_modules/.package-lock.json"];

/**
 * Names the state of the sources under `root`: any file added, removed or saved gives another name.
 * A bundle lives in `dist/<that name>/`, so whether it is fresh is whether its folder exists.
 */
export function fingerprint(root) {
  const hash = crypto.createHash("sha1");
  rooms.forEach((room) => walk(root, room, hash));
  alongside.forEach((file) => note(root, file, hash));
  return hash.digest("hex").slice(0, 16);
}

function walk(root, folder, hash) {
  list(path.join(root, folder)).forEach((entry) => {
    const name = folder + "/" + entry.name;
    if (entry.isDirectory()) walk(root, name, hash);
    else if (/\.(ts|json)$/.test(name)) note(root, name, hash);
  });
}

function list(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (error.code === "ENOENT") return []; // a room that is not there yet
    throw error;
  }
}

function note(root, file, hash) {
  try {
    const { mtimeMs, size } = fs.statSync(path.join(root, file));
    hash.update(file + ":" + Math.floor(mtimeMs) + ":" + size + "\n");
  } catch (error) {
    if (error.code !== "ENOENT") throw error; // gone since it was listed: its absence is the state
  }
}
