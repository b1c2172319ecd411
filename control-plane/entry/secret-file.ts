import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SettingError } from "./settings.ts";

/**
 * A secret that is made once and kept in the data folder, 0600. It is written aside and linked into place, so that
 * nobody sees half of it and of two starts at once both end up with the same one.
 */
export const keptSecret = async (
  dataDir: string,
  name: string,
  make: () => string,
): Promise<{ secret: string; path: string; made: boolean }> => {
  const path = join(dataDir, name);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const kept = await readKept(path);
    if (kept !== undefined) return { secret: kept, path, made: false };
    await place(path, make());
    return { secret: (await readKept(path)) ?? "", path, made: true };
  } catch (error) {
    throw readable(error, path);
  }
};

const readKept = async (path: string): Promise<string | undefined> => {
  try {
    const text = (await readFile(path, "utf8")).trim();
    if (text === "") throw new SettingError(`${path} is empty: remove it, then a new one is made`);
    return text;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
};

const place = async (path: string, secret: string): Promise<void> => {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: "wx" });
    await link(draft, path);
  } catch (error) {
    // Another start was faster: its secret is the one that counts.
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

const readable = (error: unknown, path: string): unknown => {
  const code = codeOf(error);
  return code === undefined
    ? error
    : new SettingError(`${path} cannot be read or written (${code}): see DROVER_DATA_DIR`, { cause: error });
};
