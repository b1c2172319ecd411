import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Bench, eventually, newMark, pidsWith } from "../../support/engine.ts";

/** A cgroup v2 folder this test may use; undefined where the machine gives none. */
const delegated = (): string | undefined => {
  for (const root of ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) {
    const path = join(root, `drover-test-${process.pid}`);
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

const folder = delegated();

describe.runIf(folder !== undefined)("a delegated cgroup", () => {
  it("holds what no other sign finds: a double fork with a cleared environment in a session of its own", async () => {
    onTestFinished(() => rmdirSync(folder ?? ""));
    const bench = new Bench({ cgroup: folder });
    onTestFinished(() => bench.close());
    const mark = newMark();
    const id = bench.start(`(env -i setsid sh -c 'sleep ${mark} & :' &) ; sleep ${mark}`);
    await eventually(() => pidsWith(`sleep\0${mark}`).length === 2);
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({
      status: "killed",
      reason: "stopped",
      signal: "KILL",
      survivors: [],
    });
    expect(pidsWith(mark)).toEqual([]);
    bench.acknowledge(id);
    expect(readdirSync(folder ?? "").filter((name) => name.startsWith("proc_"))).toEqual([]);
  });
});
