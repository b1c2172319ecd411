import { statSync, statfsSync } from "node:fs";
import { failed } from "./ending.ts";
import type { Ending } from "./record.ts";

/**
 * What has to hold before a command is spawned, and how a refusal is said. The system's own words for a folder that is
 * missing and a program that is missing are the same, so the folder is looked at first.
 */
export const floorBytes = 1024 * 1024;

export const cwdRefusal = (cwd: string): Ending | undefined => {
  try {
    return statSync(cwd).isDirectory() ? undefined : failed("cwd_not_found", `${cwd} is not a folder`);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return failed(
      "cwd_not_found",
      code === "EACCES" ? `the agent may not look into ${cwd}` : `there is no folder ${cwd}`,
    );
  }
};

export const diskRefusal = (dataDir: string): Ending | undefined => {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize >= floorBytes
    ? undefined
    : failed(
        "spawn_error",
        "less than 1 MiB is free where the agent keeps output: nothing is started until there is room",
      );
};

/** What the system said when it would not start the shell. */
export const spawnRefusal = (error: unknown, cwd: string): Ending => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return cwdRefusal(cwd) ?? failed("spawn_error", message);
  if (code === "ENOSPC") return failed("spawn_error", "no space is left where the agent keeps output");
  return failed("spawn_error", `the command could not be started: ${message}`);
};
