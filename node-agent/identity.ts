import { randomBytes, createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { StartRefused } from "./config.ts";
import { trouble, type DataFolder } from "./data-folder.ts";

const key = z.string().min(32);
const node = z.object({
  key,
  nextKey: key.optional(),
  nodeId: z.string().min(1),
  name: z.string(),
  url: z.string(),
  /** Where it was written; unknown in files that are older than this field, as in a copy. */
  machineId: z.string().default(""),
});
const stored = z.union([node, z.object({ key })]);

/** Who this agent is: the node it enrolled as, and the key it proves that with; `nextKey` is made to replace it and may be in force. */
export type Identity = {
  nodeId: string;
  name: string;
  key: string;
  nextKey?: string | undefined;
  url: string;
};

/** `key`: made, and perhaps sent, but no answer was stored; the same key is sent again. */
export type StoredIdentity =
  | { state: "none" }
  | { state: "key"; key: string }
  | { state: "node"; identity: Identity; isCopy: boolean };

/** Reads `identity.json`; `isCopy` when it was written in another folder than it is in, or on another machine. */
export function readIdentity(folder: DataFolder): StoredIdentity {
  const text = textOf(identityFile(folder));
  if (text === undefined) return { state: "none" };
  const parsed = stored.safeParse(parseJson(text));
  if (!parsed.success)
    throw new StartRefused(
      `${identityFile(folder)} is damaged: restore it, or remove it and enrol again with a new join token`,
    );
  if (!("nodeId" in parsed.data)) return { state: "key", key: parsed.data.key };
  const { machineId, ...identity } = parsed.data;
  return { state: "node", identity, isCopy: machineId !== folder.machineId };
}

/** A new key of 256 random bits. */
export const newKey = (): string => randomBytes(32).toString("base64url");

/** A new key, stored before it is used. */
export function makeKey(folder: DataFolder): string {
  const made = newKey();
  write(folder, { key: made });
  return made;
}

export const storeIdentity = (folder: DataFolder, identity: Identity): void =>
  write(folder, { ...identity, machineId: folder.machineId });

/** What the control plane knows of the key. */
export const keyHash = (text: string): string => createHash("sha256").update(text).digest("hex");

const identityFile = (folder: DataFolder): string => join(folder.path, "identity.json");

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new StartRefused(`${file} cannot be read: ${trouble(error)}`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told like any other damage.
    return undefined;
  }
}

/** The keys it may be known by, the newest first. */
export const keysOf = ({ key: first, nextKey }: Identity): string[] =>
  nextKey === undefined ? [first] : [nextKey, first];

/** Whole or not at all: written beside, flushed, then renamed, and the name flushed too: a key in force must not go with the power. */
function write(folder: DataFolder, value: object): void {
  const file = identityFile(folder);
  try {
    const fd = openSync(`${file}.new`, "w", 0o600);
    try {
      writeSync(fd, `${JSON.stringify(value)}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(`${file}.new`, file);
    flush(folder.path);
  } catch (error) {
    throw new StartRefused(`${file} cannot be written: ${trouble(error)}`);
  }
}

function flush(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
