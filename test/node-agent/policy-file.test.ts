import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodePolicy, type NodePolicy } from "../../node-agent/policy-file.ts";
import { launchOf, temporaryFolder } from "../support/engine.ts";

describe("the policy file of a node", () => {
  let folder: string;
  let file: string;
  let events: string[];
  const open = (): NodePolicy => {
    const note = (event: string): void => void events.push(event);
    return nodePolicy(file, { info: note, warn: note, error: note });
  };
  const write = (policy: unknown): void =>
    writeFileSync(file, typeof policy === "string" ? policy : JSON.stringify(policy));
  const ruleOf = (policy: NodePolicy, command: string, cwd = "/tmp", more = {}): string => {
    const verdict = policy.judge(launchOf(command, more), cwd);
    return verdict.allowed ? "allowed" : verdict.refusal.rule;
  };

  beforeEach(() => {
    folder = temporaryFolder();
    file = join(folder, "policy.json");
    events = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is the default one where there is none", () => {
    const policy = open();
    expect(ruleOf(policy, "true")).toBe("allowed");
    expect(ruleOf(policy, "reboot")).toBe("power");
    expect(events).toEqual([]);
  });

  it("holds from the next start on when it is written, changed or removed", () => {
    const policy = open();
    write({ refusePrograms: ["ls"] });
    expect(ruleOf(policy, "ls")).toBe("program");
    write({ refusePrograms: ["id"] });
    expect(ruleOf(policy, "ls")).toBe("allowed");
    expect(ruleOf(policy, "id")).toBe("program");
    rmSync(file);
    expect(ruleOf(policy, "id")).toBe("allowed");
  });

  it.each([
    ["{", /JSON/],
    ['{"refusePrograms": "ls"}', /expected array.*refusePrograms/],
    ['{"readonly": true}', /readonly/],
    ['{"allowRules": ["powr"]}', /must be one of the rules: remove_system/],
    ["", /JSON/],
  ])("refuses every start where it cannot be used, naming the file and the fault: %s", (text, fault) => {
    write(text);
    const policy = open();
    const verdict = policy.judge(launchOf("true"), "/tmp");
    expect(verdict).toMatchObject({ allowed: false, refusal: { rule: "policy_file" } });
    const reason = verdict.allowed ? "" : verdict.refusal.reason;
    expect(reason).toContain(file);
    expect(reason).toMatch(fault);
    expect(events).toEqual(["policy.broken"]);
    write({});
    expect(ruleOf(policy, "true")).toBe("allowed");
  });

  it("refuses every start where it cannot be read", () => {
    mkdirSync(file);
    expect(ruleOf(open(), "true")).toBe("policy_file");
    chmodSync(file, 0o700);
  });

  it("takes a folder for what it really is, and a root too", () => {
    const real = join(folder, "real");
    mkdirSync(join(real, "inside"), { recursive: true });
    symlinkSync(real, join(folder, "root"));
    symlinkSync("/usr", join(real, "outside"));
    write({ roots: [join(folder, "root")] });
    const policy = open();
    expect(ruleOf(policy, "true", join(real, "inside"))).toBe("allowed");
    expect(ruleOf(policy, "true", join(folder, "root", "inside"))).toBe("allowed");
    expect(ruleOf(policy, "true", join(real, "outside"))).toBe("folder");
    expect(ruleOf(policy, "true", join(real, "inside", "..", ".."))).toBe("folder");
    write({});
    expect(ruleOf(policy, "rm -rf *", join(real, "outside"))).toBe("remove_system");
  });

  it("knows what the start gives to the command", () => {
    const policy = open();
    expect(ruleOf(policy, 'rm -rf "$D"', "/tmp", { env: { D: "/" } })).toBe("remove_system");
    expect(ruleOf(policy, "sh", "/tmp", { stdin: { text: "reboot" } })).toBe("power");
  });

  it("keeps signals, input and longer limits from what runs, where it says so", () => {
    const policy = open();
    expect(policy.steeringRefusal({ timeoutMs: 1e9 })).toBeUndefined();
    write({ limits: { timeoutMs: 1000 } });
    expect(policy.steeringRefusal({ timeoutMs: 1001 })).toMatchObject({ rule: "limit" });
    expect(policy.steeringRefusal({})).toBeUndefined();
    write({ readOnly: true });
    expect(policy.steeringRefusal({})).toMatchObject({ rule: "read_only" });
  });
});
