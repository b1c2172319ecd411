import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const root = join(import.meta.dirname, "../..");
const entry = `import(${JSON.stringify(join(root, "cli/main.ts"))})
  .then((cli) => cli.main(process.argv.slice(1)))
  .then((code) => { process.exitCode = code; });`;

const home = mkdtempSync(join(tmpdir(), "drover-cli-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };
export type Running = { child: ChildProcess; ended: Promise<Ended>; seen(text: string): Promise<void> };

type Options = {
  env?: Record<string, string>;
  input?: string | Buffer;
  stdin?: "open" | "ignore";
  /** Through bin/drover.js, as a verb needs that starts the CLI again. */
  bin?: boolean;
};

/** The environment of a user who has never used Drover. */
export const freshEnv = (env: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  ...env,
});

/** Starts the CLI as a program of its own; `seen` resolves when a text stands in its stdout or stderr. */
export function startCli(words: string[], { env = {}, input, stdin, bin }: Options = {}): Running {
  const start = bin ? [join(root, "bin/drover.js")] : ["-e", entry, "--"];
  const child = spawn(process.execPath, [...start, ...words], {
    env: { ...freshEnv(env), DROVER_SOURCE: "1" },
    stdio: [stdin === "ignore" ? "ignore" : "pipe", "pipe", "pipe"],
  });
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("latin1").on("data", (text: string) => void (out[name] += text));
  // A program that ends early need not have read its input.
  child.stdin?.on("error", () => undefined);
  if (stdin !== "open") child.stdin?.end(input);
  const ended = new Promise<Ended>((resolve) =>
    child.on("close", (code, signal) =>
      resolve({ code, signal, stdout: utf8(out.stdout), stderr: utf8(out.stderr) }),
    ),
  );
  const seen = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => void ((utf8(out.stdout) + utf8(out.stderr)).includes(text) && resolve());
      child.stdout?.on("data", look);
      child.stderr?.on("data", look);
      look();
      void ended.then((end) => reject(new Error(`ended without "${text}": ${JSON.stringify(end)}`)));
    });
  return { child, ended, seen };
}

const utf8 = (latin: string): string => Buffer.from(latin, "latin1").toString("utf8");

/** Runs the CLI to its end. */
export const runCli = (words: string[], options?: Options): Promise<Ended> => startCli(words, options).ended;
