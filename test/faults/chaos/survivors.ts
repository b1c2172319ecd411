import { readdirSync, readFileSync } from "node:fs";
import type { Fleet } from "./fleet.ts";

/** Processes alive now that carry the tag of one of this fleet's commands. */
export function livingOf({ folder }: Fleet): { pid: number; id: string }[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0)
    .flatMap((pid) => {
      const id = tagOf(pid, folder);
      return id === undefined ? [] : [{ pid, id }];
    });
}

function tagOf(pid: number, folder: string): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
    // The home of every command lies in the folder.
    return environment.includes(folder)
      ? /(?:^|\0)DROVER_PROCESS_ID=(\w+)/.exec(environment)?.[1]
      : undefined;
  } catch {
    // It ended while we looked, or is a kernel's.
    return undefined;
  }
}
