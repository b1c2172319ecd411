// Starting the control plane in this process, for `serve` and `up`.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { ControlPlane, Settings, settingsFromEnv } from "../control-plane/entry/node.ts";
import { profilesPath, localProfile, saveProfile, type Profile } from "./profile.ts";
import { UsageError } from "./verb.ts";

type Flags = Parameters<typeof settingsFromEnv>[1];

/** The options of the verbs that start a control plane. */
export const withSettings = (command: Command): Command =>
  command
    .option("--port <port>", "where to listen, 0 for any free port (else DROVER_PORT, else 4600)")
    .option("--data-dir <folder>", "where to keep everything (else DROVER_DATA_DIR)")
    .option("--database-url <url>", "a Postgres (else DATABASE_URL, else one of Drover's own)")
    .option("--public-url <url>", "how clients reach it (else DROVER_PUBLIC_URL)");

/** Starts it; what a person can mend (a setting, a port in use, a database) is one line and exit code 2. */
export async function startHere(flags: Flags): Promise<{ controlPlane: ControlPlane; settings: Settings }> {
  const { isForPeople, startControlPlane, settingsFromEnv } = await import("../control-plane/entry/node.ts");
  try {
    const settings = settingsFromEnv(process.env, flags);
    return { settings, controlPlane: await startControlPlane(settings) };
  } catch (error) {
    throw isForPeople(error) ? new UsageError(error.message, { cause: error }) : error;
  }
}

/** Saves the profile `local` where the control plane can be reached from this machine only; answers the file. */
export async function saveLocalProfile(profile: Profile): Promise<string> {
  const path = profilesPath(process.env);
  await saveProfile(path, localProfile, profile);
  return path;
}

/** The admin token of this control plane: as it was given, else as it was made into the data folder. */
export async function adminToken({ adminToken: given, dataDir }: Settings): Promise<string> {
  return given ?? (await readFile(join(dataDir, "admin-token"), "utf8")).trim();
}

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host.startsWith("127.");
