// Saved connections: one JSON file, `$XDG_CONFIG_HOME/drover/profiles.json` (else `~/.config/drover/`), mode 0600 as it
// holds tokens:  { "version": 1, "current": "<name>"?, "profiles": { "<name>": { "url": "…", "token": "…" } } }
// `up` and `serve` on loopback write the profile `local`; the newest wins. Without `current`, `local` is used.
// Written aside and renamed, so that a reader never sees half a file.

import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { UsageError } from "./verb.ts";

export type Profile = { url: string; token: string };
type Profiles = { version: 1; current?: string; profiles: Record<string, Profile> };

export const localProfile = "local";

type Env = Record<string, string | undefined>;

/** Where the profiles are kept; a relative XDG_CONFIG_HOME is ignored, as its specification asks. */
export function profilesPath(env: Env): string {
  const base = env["XDG_CONFIG_HOME"];
  const isUsable = base !== undefined && isAbsolute(base);
  const config = isUsable ? base : join(env["HOME"] || homedir(), ".config");
  return join(config, "drover", "profiles.json");
}

/** A profile by name, else the current one, else `local`; undefined when there is none. */
export async function readProfile(path: string, name?: string): Promise<Profile | undefined> {
  const { current, profiles } = await readProfiles(path);
  return profiles[name ?? current ?? localProfile];
}

/** Saves a profile and keeps all others. */
export async function saveProfile(path: string, name: string, profile: Profile): Promise<void> {
  const saved = await readProfiles(path);
  const next: Profiles = { ...saved, profiles: { ...saved.profiles, [name]: profile } };
  const draft = `${path}.${randomUUID()}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(draft, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function readProfiles(path: string): Promise<Profiles> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });
  if (text === undefined) return { version: 1, profiles: {} };
  const value = parse(text);
  if (!isProfiles(value)) throw new UsageError(`${path} does not hold profiles: mend or remove it`);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says which file is wrong.
    return undefined;
  }
}

function isProfiles(value: unknown): value is Profiles {
  if (!isObject(value) || !isObject(value["profiles"])) return false;
  const { current } = value;
  return (
    (current === undefined || typeof current === "string") &&
    Object.values(value["profiles"]).every(isProfile)
  );
}

const isProfile = (value: unknown): value is Profile =>
  isObject(value) && typeof value["url"] === "string" && typeof value["token"] === "string";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
