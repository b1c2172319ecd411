import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { policy as policyShape } from "#shared/api/policy.ts";
import { type JudgedStart, judgeStart } from "#shared/guard/judge-start.ts";

const ruleOf = (policy: object, start: JudgedStart): string => {
  const verdict = judgeStart(start, policyShape.parse(policy));
  return verdict.allowed ? "allowed" : verdict.refusal.rule;
};
const onlyGit = { allowPrograms: ["git", "sh", "env", "npm*"] };

describe("a policy", () => {
  it.each<[object, JudgedStart, string]>([
    [{}, { command: "ls" }, "allowed"],
    [{}, { command: "reboot" }, "power"],
    [{}, { argv: ["reboot"] }, "power"],
    [{}, { command: "rm -rf .", cwd: "/" }, "remove_system"],
    [{}, { argv: ["rm", "-rf", "."], cwd: "/" }, "remove_system"],
    [{}, { command: "sh", stdin: "reboot" }, "power"],
    [{}, { command: 'rm -rf "$A"', env: { A: "/" } }, "remove_system"],
    [{ allowRules: ["power"] }, { command: "reboot" }, "allowed"],
    [{ allowRules: ["power"] }, { command: "echo b > /proc/sysrq-trigger" }, "allowed"],
    [{ allowRules: ["power"] }, { command: "reboot; rm -rf /" }, "remove_system"],
    [{ allowRules: ["fork_bomb"] }, { command: ":(){ :|:& };:" }, "allowed"],
    [{ allowRules: ["raw_disk_write"] }, { command: "cat x > /dev/sda" }, "allowed"],
    [{ readOnly: true }, { command: "true" }, "read_only"],
    [{}, { command: "true", user: "bob" }, "allowed"],
    [{ users: [] }, { command: "true", user: "bob" }, "user"],
    [{ users: ["bob"] }, { command: "true", user: "bob" }, "allowed"],
    [{ users: ["bob"] }, { command: "true" }, "allowed"],
    [{ roots: ["/srv/app"] }, { command: "true", cwd: "/srv/app" }, "allowed"],
    [{ roots: ["/srv/app/"] }, { command: "true", cwd: "/srv/./app/x//y" }, "allowed"],
    [{ roots: ["/srv/app"] }, { command: "true", cwd: "/srv/app/../other" }, "folder"],
    [{ roots: ["/srv/app"] }, { command: "true", cwd: "/srv/application" }, "folder"],
    [{ roots: ["/srv/app"] }, { command: "true" }, "folder"],
    [{ roots: ["/"] }, { command: "true", cwd: "/x" }, "allowed"],
    [{ limits: { timeoutMs: 1000 } }, { command: "true", timeoutMs: 1000 }, "allowed"],
    [{ limits: { timeoutMs: 1000 } }, { command: "true", timeoutMs: 1001 }, "limit"],
    [{ limits: { outputBytes: 10 } }, { command: "true", outputBytes: 11 }, "limit"],
    [{ refusePrograms: ["docker", "kube*"] }, { command: "ls; sudo docker ps" }, "program"],
    [{ refusePrograms: ["docker", "kube*"] }, { command: "sh -c '/usr/bin/kubectl get pods'" }, "program"],
    [{ refusePrograms: ["docker"] }, { command: "find . -exec docker {} +" }, "program"],
    [{ refusePrograms: ["docker"] }, { command: "echo docker" }, "allowed"],
    [
      { refusePrograms: ["docker"] },
      { command: `${"echo a long one\n".repeat(20_000)}docker ps` },
      "program",
    ],
    [{ refusePrograms: ["docker"] }, { command: "echo 'unclosed\ndocker ps" }, "program"],
    [{ refusePrograms: ["python3"] }, { command: "print(1)", shell: "/usr/bin/python3" }, "program"],
    [onlyGit, { command: "cd /srv && git pull && env A=1 npm test > log" }, "allowed"],
    [onlyGit, { command: "step() { git pull; }; step" }, "allowed"],
    [onlyGit, { argv: ["git", "status"] }, "allowed"],
    [onlyGit, { command: "git pull && make" }, "program"],
    [onlyGit, { command: "sh -c 'git pull; make'" }, "program"],
    [onlyGit, { command: "env A=1 make" }, "program"],
    [onlyGit, { command: "$TOOL x" }, "program"],
    [onlyGit, { command: "git pull; if" }, "unreadable"],
    [onlyGit, { command: "git reset --hard; sh -c 'rm -rf /'" }, "remove_system"],
  ])("%j says of %j: %s", (policy, start, rule) => {
    expect(ruleOf(policy, start)).toBe(rule);
  });

  it("holds its limits for starts that ask for none, and smaller ones where they are asked for", () => {
    const policy = policyShape.parse({ limits: { timeoutMs: 60_000, outputBytes: 100 } });
    expect(judgeStart({ command: "true", timeoutMs: 10 }, policy)).toEqual({
      allowed: true,
      limits: { timeoutMs: 10, outputBytes: 100 },
    });
  });

  it("names what was found and what to do instead", () => {
    const verdict = judgeStart(
      { command: "x", cwd: "/tmp" },
      policyShape.parse({ roots: ["/srv", "/data"] }),
    );
    expect(verdict).toEqual({
      allowed: false,
      refusal: {
        rule: "folder",
        reason: "The policy lets commands start only in /srv, /data and below, not in /tmp.",
        advice: expect.stringMatching(/ask a person/),
      },
    });
  });

  it.each([
    [{ allowRules: ["powr"] }, "must be one of the rules: remove_system"],
    [{ refusePrograms: ["/bin/rm"] }, "without its path"],
    [{ roots: ["srv"] }, "absolute path"],
    [{ roots: ["/srv/../etc"] }, "absolute path"],
    [{ limits: { timeoutMs: 0 } }, ">=1"],
    [{ readonly: true }, "readonly"],
  ])("is not read from %j", (given, why) => {
    expect(JSON.stringify(policyShape.safeParse(given).error?.issues)).toContain(why);
  });

  it("never throws, whatever the start and the policy say", () => {
    const words = fc.constantFrom(
      "git",
      "rm",
      "-rf",
      "/",
      "$(",
      "'",
      "|",
      "sh",
      "-c",
      "<<E",
      "\n",
      "*",
      "{}",
      ";",
    );
    const start = fc.record({ command: fc.array(words, { maxLength: 20 }).map((all) => all.join(" ")) });
    const policy = fc.record({
      allowPrograms: fc.option(fc.constant(["git"]), { nil: undefined }),
      refusePrograms: fc.constantFrom([], ["r*"]),
      roots: fc.option(fc.constant(["/srv"]), { nil: undefined }),
    });
    fc.assert(
      fc.property(start, policy, (given, rules) => {
        expect(() => judgeStart({ ...given, cwd: "/srv" }, policyShape.parse(rules))).not.toThrow();
      }),
    );
  });
});
