import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { wallLimitNames } from "#shared/api/walls.ts";
import { delegatedCgroup } from "../../../node-agent/machine/delegated-cgroup.ts";
import { noWalls, type Walls } from "../../../node-agent/machine/walls.ts";

/** A cgroup v2 folder that a test file may use; undefined where the machine gives none. */
export const cgroupFolder = (name: string): string | undefined => {
  for (const root of ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) {
    const path = join(root, `drover-test-${name}-${process.pid}`);
    try {
      mkdirSync(path);
      if (readdirSync(path).includes("cgroup.kill")) return path;
      rmdirSync(path);
    } catch {
      // Not mounted here, or not ours to write: try the next.
    }
  }
  return undefined;
};

/** What an agent would find of the folder. */
export const wallsOf = (folder: string | undefined): Walls => {
  if (folder === undefined) return noWalls;
  const { path, byKernel } = delegatedCgroup(folder);
  return { cgroup: path, byKernel, sandbox: undefined, enforces: ["memBytes", ...byKernel] };
};

export const holdsAll = ({ byKernel }: Walls): boolean =>
  wallLimitNames.every((name) => byKernel.includes(name));
