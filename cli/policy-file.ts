import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { UsageError } from "./verb.ts";

/** A policy out of a file, or out of stdin for `-`; what it says is for the control plane to judge. */
export async function readPolicyFile(path: string): Promise<unknown> {
  const source = path === "-" ? "stdin" : path;
  try {
    return JSON.parse(path === "-" ? await text(process.stdin) : await readFile(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${source}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
