import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodePolicy } from "../../../node-agent/policy-file.ts";
import { Bench, launchOf, temporaryFolder } from "../../support/engine.ts";

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe("the node's policy", () => {
  let folder: string;
  let bench: Bench;
  const write = (policy: object): void => writeFileSync(join(folder, "policy.json"), JSON.stringify(policy));
  beforeEach(() => {
    folder = temporaryFolder();
    bench = new Bench({ policy: nodePolicy(join(folder, "policy.json"), silent) });
  });
  afterEach(async () => {
    write({});
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("ends a start that it refuses as failed, with the rule, and runs nothing of it", async () => {
    write({ refusePrograms: ["touch"] });
    const mark = join(folder, "ran");
    const ending = await bench.run(`touch ${mark}`);
    expect(ending).toMatchObject({ status: "failed", reason: "command_refused", exitCode: null });
    expect(ending.detail).toMatch(/On this node: The command runs touch.*rule program.*ask a person/);
    expect(existsSync(mark)).toBe(false);
  });

  it("refuses a disaster although a control plane let it pass", async () => {
    const ending = await bench.run("false && { rm -rf / ; }");
    expect(ending).toMatchObject({ status: "failed", reason: "command_refused" });
    expect(ending.detail).toMatch(/remove \/ .*rule remove_system/);
  });

  it("does not run a refused start that comes again after the policy was changed", async () => {
    write({ refusePrograms: ["touch"] });
    const mark = join(folder, "ran");
    const launch = launchOf(`touch ${mark}`);
    bench.supervisor.start(launch);
    await bench.final(launch.id);
    bench.acknowledge(launch.id);
    await bench.restart();
    write({});
    bench.reports.length = 0;
    bench.supervisor.start(launch);
    expect(await bench.final(launch.id)).toMatchObject({ status: "failed", reason: "command_refused" });
    expect(existsSync(mark)).toBe(false);
  });

  it("ends what names no limit by its own", async () => {
    write({ limits: { timeoutMs: 200 } });
    expect(await bench.run("exec sleep 100.5")).toMatchObject({
      status: "timed_out",
      reason: "hard_timeout",
    });
  });

  it("refuses signals to what runs while it is read-only, and lets it be stopped", async () => {
    const id = bench.start("exec sleep 100.25");
    await bench.running(id);
    write({ readOnly: true });
    expect(await bench.supervisor.signal(id, "TERM", "tree")).toMatchObject({
      error: { code: "command_refused" },
    });
    bench.supervisor.stop(id, { graceMs: 1000, reason: "stopped" });
    expect(await bench.final(id)).toMatchObject({ status: "killed" });
  });
});
