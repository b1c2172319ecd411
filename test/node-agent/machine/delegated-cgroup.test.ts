import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { delegatedCgroup } from "../../../node-agent/machine/delegated-cgroup.ts";
import { temporaryFolder } from "../../support/engine.ts";
import { cgroupFolder } from "../process/cgroup-folder.ts";

const folder = cgroupFolder("delegated");
afterAll(() => folder && rmdirSync(folder));

it("is no start of the agent where the folder is no cgroup", () => {
  const plain = temporaryFolder();
  onTestFinished(() => rmSync(plain, { recursive: true }));
  for (const path of [plain, join(plain, "missing")])
    expect(() => delegatedCgroup(path)).toThrow(`DROVER_CGROUP: ${path} is not a cgroup v2 folder`);
});

describe.runIf(folder !== undefined)("a delegated folder (skipped where no cgroup v2 can be had)", () => {
  it("says of each limit that no group in it has why not, and leaves nothing behind", () => {
    const { path, byKernel, troubles } = delegatedCgroup(folder ?? "");
    expect(path).toBe(folder);
    expect(byKernel.length + troubles.length).toBe(3);
    for (const trouble of troubles) expect(trouble).toMatch(/^limits\.\w+ is not held: .* is not delegated/);
    expect(readdirSync(folder ?? "").filter((name) => name.startsWith("probe"))).toEqual([]);
  });

  it("is the one that the agent was started in where it is called own, and the agent moves into a group of its own in it", () => {
    const own = join(folder ?? "", "service");
    mkdirSync(own);
    const find = `
      import { delegatedCgroup } from "./node-agent/machine/delegated-cgroup.ts";
      import { readFileSync } from "node:fs";
      const [one, again] = [delegatedCgroup("own"), delegatedCgroup("own")];
      console.log(JSON.stringify([one.path, again.path, readFileSync("/proc/self/cgroup", "latin1")]));`;
    const start = 'echo 0 >"$1/cgroup.procs"; exec "$2" --input-type=module -e "$3"';
    const said = execFileSync("/bin/sh", ["-c", start, "sh", own, process.execPath, find], {
      encoding: "utf8",
    });
    const [one, again, group] = JSON.parse(said) as string[];
    expect([one, again]).toEqual([own, own]);
    expect(group).toMatch(/^0::.*\/service\/agent$/m);
    rmdirSync(join(own, "agent"));
    rmdirSync(own);
  });
});
