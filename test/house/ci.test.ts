import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Stands for npm: each step ends as the environment says, and the tests leave the report that it names. */
const npm = `#!/bin/sh
case "$1" in
  ci) exit "\${CI_ENDS:-0}" ;;
  run) exit "\${CHECK_ENDS:-0}" ;;
  test)
    if [ -n "$LEAVES_BEHIND" ]; then setsid sleep 300 >/dev/null 2>&1 & echo "left: $!"; fi
    mkdir "$TMPDIR/left-over"
    for option; do case "$option" in --outputFile.json=*) report=\${option#*=} ;; esac; done
    [ -z "$REPORT" ] || printf %s "$REPORT" >"$report"
    exit "\${TEST_ENDS:-0}" ;;
esac
`;

const report = (over: object): string =>
  JSON.stringify({
    success: true,
    numPassedTests: 5,
    numFailedTests: 0,
    numPendingTests: 2,
    numTodoTests: 1,
    testResults: [],
    ...over,
  });

const failedFile = { status: "failed", assertionResults: [{ status: "passed" }] };
const failedTest = { status: "failed", assertionResults: [{ status: "failed" }] };

interface Outcome {
  exitCode: number | undefined;
  last: string | undefined;
  output: string;
  leftOver: string[];
}

async function runCi(env: Record<string, string>): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "drover-ci-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const temporary = join(folder, "tmp");
  await Promise.all(["tmp", "bin", "project"].map((name) => mkdir(join(folder, name))));
  await cp(join(root, ".ci"), join(folder, "project/.ci"), { recursive: true });
  await writeFile(join(folder, "bin/npm"), npm, { mode: 0o755 });
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const { exitCode, stdout } = await execa("bash", [join(folder, "project/.ci/run")], {
    cwd: "/",
    reject: false,
    stdin: "ignore",
    timeout: 40_000,
    env: { PATH: path, TMPDIR: temporary, ...env },
  });
  return { exitCode, output: stdout, last: stdout.split("\n").at(-1), leftOver: await readdir(temporary) };
}

describe(".ci/run", () => {
  it.each([
    ["all pass", { REPORT: report({}) }, "5 passed, 0 failed, 3 skipped", 0],
    [
      "a test fails",
      failing({ numFailedTests: 1, testResults: [failedTest] }),
      "5 passed, 1 failed, 3 skipped",
      1,
    ],
    ["a file cannot be loaded", failing({ testResults: [failedFile] }), "5 passed, 1 failed, 3 skipped", 1],
    ["an error falls outside of any test", failing({}), "5 passed, 1 failed, 3 skipped", 1],
    ["the tests leave no report", { TEST_ENDS: "1" }, "0 passed, 1 failed, 0 skipped", 1],
    ["a check fails", { REPORT: report({}), CHECK_ENDS: "2" }, "5 passed, 1 failed, 3 skipped", 1],
    ["the install fails", { CI_ENDS: "1" }, "0 passed, 1 failed, 0 skipped", 1],
  ])("counts in its last line and ends rightly when %s", async (_, env, last, exitCode) => {
    const outcome = await runCi(env);
    expect(outcome).toMatchObject({ last, exitCode, leftOver: [] });
  });

  it.skipIf(process.platform !== "linux")("ends what the tests left running", async () => {
    const { output, exitCode } = await runCi({ REPORT: report({}), LEAVES_BEHIND: "yes" });
    const pid = Number(/left: (\d+)/.exec(output)?.[1]);
    expect(output).toContain(`ends process ${pid}, which the run left behind: sleep 300`);
    expect(exitCode).toBe(0);
  });
});

function failing(over: object): Record<string, string> {
  return { REPORT: report({ success: false, ...over }), TEST_ENDS: "1" };
}
