import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Where each room may not reach, and beside it what it may import: file, import, rule that speaks (or none). */
const imports: [file: string, specifier: string, rule: string | undefined][] = [
  ["shared/ids.ts", "../drizzle/schema.ts", "no-restricted-imports"],
  ["shared/link/frames.ts", "../../control-plane/app.ts", "no-restricted-imports"],
  ["shared/link/frames.ts", "../ids.ts", undefined],
  ["shared/link/frames.ts", "zod", undefined],
  ["shared/ids.ts", "hono", "no-restricted-imports"],
  ["shared/ids.ts", "node:crypto", "no-nodejs-modules"],
  ["shared/ids.ts", "ws", "no-restricted-imports"],
  ["drizzle/schema.ts", "../control-plane/app.ts", "no-restricted-imports"],
  ["drizzle/schema.ts", "#shared/ids.ts", undefined],
  ["drizzle/schema.ts", "drizzle-orm/pg-core", undefined],
  ["drizzle/schema.ts", "node:fs", "no-nodejs-modules"],
  ["control-plane/app.ts", "./entry/node.ts", "no-restricted-imports"],
  ["control-plane/app.ts", "./http/processes.ts", undefined],
  ["control-plane/app.ts", "../node-agent/main.ts", "no-restricted-imports"],
  ["control-plane/app.ts", "node:fs", "no-nodejs-modules"],
  ["control-plane/needs.ts", "./store/postgres/store.ts", "no-restricted-imports"],
  ["control-plane/needs.ts", "./store/store.ts", undefined],
  ["control-plane/actions/start.ts", "../store/store.ts", undefined],
  ["control-plane/actions/start.ts", "../link/dispatch.ts", undefined],
  ["control-plane/actions/start.ts", "../bus/bus.ts", undefined],
  ["control-plane/actions/start.ts", "../needs.ts", undefined],
  ["control-plane/actions/start.ts", "../secrets/seal.ts", undefined],
  ["control-plane/actions/start.ts", "./stop.ts", undefined],
  ["control-plane/actions/start.ts", "../store/postgres/processes.ts", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "../http/problem.ts", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "../link/session.ts", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "../../drizzle/schema.ts", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "../../node-agent/main.ts", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "hono", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "drizzle-orm", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "node:fs", "no-nodejs-modules"],
  ["control-plane/http/processes.ts", "../actions/start.ts", undefined],
  ["control-plane/http/processes.ts", "#shared/api/process.ts", undefined],
  ["control-plane/http/processes.ts", "hono", undefined],
  ["control-plane/http/processes.ts", "../store/postgres/processes.ts", "no-restricted-imports"],
  ["control-plane/http/processes.ts", "../link/session.ts", "no-restricted-imports"],
  ["control-plane/http/processes.ts", "#shared/link/frames.ts", "no-restricted-imports"],
  ["control-plane/http/processes.ts", "postgres", "no-restricted-imports"],
  ["control-plane/http/processes.ts", "@hono/node-server", "no-restricted-imports"],
  ["control-plane/link/session.ts", "../store/store.ts", undefined],
  ["control-plane/link/session.ts", "#shared/link/frames.ts", undefined],
  ["control-plane/link/session.ts", "../actions/start.ts", "no-restricted-imports"],
  ["control-plane/link/session.ts", "ws", "no-restricted-imports"],
  ["control-plane/scheduler/ticker.ts", "../actions/sweep.ts", undefined],
  ["control-plane/scheduler/ticker.ts", "../http/problem.ts", "no-restricted-imports"],
  ["control-plane/bus/postgres.ts", "postgres", undefined],
  ["control-plane/bus/postgres.ts", "../store/store.ts", "no-restricted-imports"],
  ["control-plane/store/store.ts", "#shared/ids.ts", undefined],
  ["control-plane/store/store.ts", "./postgres/store.ts", "no-restricted-imports"],
  ["control-plane/store/store.ts", "drizzle-orm", "no-restricted-imports"],
  ["control-plane/store/postgres/processes.ts", "../../../drizzle/schema.ts", undefined],
  ["control-plane/store/postgres/processes.ts", "../store.ts", undefined],
  ["control-plane/store/postgres/processes.ts", "../../actions/start.ts", "no-restricted-imports"],
  ["control-plane/store/postgres/processes.ts", "../../../node-agent/main.ts", "no-restricted-imports"],
  ["control-plane/store/postgres/processes.ts", "node:fs", "no-nodejs-modules"],
  ["control-plane/store/migrate.ts", "../../drizzle/migrations.generated.ts", undefined],
  ["control-plane/store/migrate.ts", "../actions/start.ts", "no-restricted-imports"],
  ["control-plane/store/embedded.ts", "node:child_process", undefined],
  ["control-plane/store/embedded/server.ts", "node:child_process", undefined],
  ["control-plane/store/embedded/server.ts", "../../link/session.ts", "no-restricted-imports"],
  ["control-plane/entry/node.ts", "node:http", undefined],
  ["control-plane/entry/node.ts", "ws", undefined],
  ["control-plane/entry/node.ts", "../store/postgres/store.ts", undefined],
  ["control-plane/entry/node.ts", "../../node-agent/main.ts", "no-restricted-imports"],
  ["control-plane/entry/node.ts", "../../cli/main.ts", "no-restricted-imports"],
  ["node-agent/main.ts", "#shared/link/frames.ts", undefined],
  ["node-agent/main.ts", "ws", undefined],
  ["node-agent/main.ts", "node:fs", undefined],
  ["node-agent/process/child.ts", "../../control-plane/needs.ts", "no-restricted-imports"],
  ["node-agent/main.ts", "drizzle-orm", "no-restricted-imports"],
  ["node-agent/main.ts", "hono", "no-restricted-imports"],
  ["cli/main.ts", "../sdk/client.ts", undefined],
  ["cli/commands/agent.ts", "../../node-agent/main.ts", undefined],
  ["cli/commands/serve.ts", "../../control-plane/entry/node.ts", undefined],
  ["cli/commands/serve.ts", "../../control-plane/app.ts", "no-restricted-imports"],
  ["cli/commands/agent.ts", "../../node-agent/process/child.ts", "no-restricted-imports"],
  ["cli/main.ts", "node:fs", undefined],
  ["cli/main.ts", "postgres", "no-restricted-imports"],
  ["sdk/client.ts", "#shared/api/process.ts", undefined],
  ["sdk/client.ts", "../cli/main.ts", "no-restricted-imports"],
  ["sdk/client.ts", "node:fs", "no-nodejs-modules"],
  ["shared/ids.ts", "cloudflare:workers", "no-restricted-imports"],
  ["drizzle/schema.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/app.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/http/processes.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/scheduler/ticker.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/link/session.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/cluster/post.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/bus/postgres.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/store/migrate.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/store/store.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/store/postgres/processes.ts", "cloudflare:workers", "no-restricted-imports"],
  ["sdk/client.ts", "cloudflare:workers", "no-restricted-imports"],
  ["control-plane/actions/start.ts", "npm:postgres", "no-restricted-imports"],
  ["control-plane/store/postgres/processes.ts", "npm:postgres", "no-restricted-imports"],
  ["control-plane/app.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/http/processes.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/scheduler/ticker.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/link/session.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/cluster/post.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/bus/postgres.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/store/migrate.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/store/store.ts", "node:sqlite", "no-nodejs-modules"],
  ["control-plane/entry/worker.ts", "cloudflare:workers", undefined],
];

/** Ways to write a line that the house forbids, and the rule that says so. */
const habits: [text: string, rule: string][] = [
  ["export const loose = (value: any): number => value;", "no-explicit-any"],
  ["export const sure = (value?: string): string => value!;", "no-non-null-assertion"],
  ["export const start = (go: () => Promise<void>): void => { go(); };", "no-floating-promises"],
  ["export const same = (a: string, b: string): boolean => a == b;", "eqeqeq"],
  ["export const quiet = (go: () => void): void => { try { go(); } catch {} };", "no-empty"],
  ["export const five = (a: 1, b: 2, c: 3, d: 4, e: 5): number => a + b + c + d + e;", "max-params"],
  ["export const home = (): string => String(process.env.HOME);", "no-restricted-globals"],
  [`export const long = 0;\n${"//\n".repeat(400)}`, "max-lines"],
  [`export const far = (): void => {\n${"  Math.random();\n".repeat(61)}};`, "max-lines-per-function"],
];

// What only a runtime has, by name or by way of globalThis, in rooms that run on all of them.
const runtimes: [text: string, rule: string][] = [
  ['export const text = (): string => Buffer.from("a").toString();', "no-restricted-globals"],
  ["export const pid = (): number => Deno.pid;", "no-restricted-globals"],
  ["export const soon = (go: () => void): void => void setImmediate(go);", "no-restricted-globals"],
  ["export const env = (): unknown => globalThis.process.env;", "no-restricted-properties"],
];
const neutral = [
  "drizzle",
  "control-plane/actions",
  "control-plane/link",
  "control-plane/store/postgres",
  "sdk",
];

interface Finding {
  filename: string;
  code: string;
  labels: { span: { line: number } }[];
}

// All imports of one file stand in it, each on a line of its own, so that a finding's line names its import.
const linesOf = Object.groupBy(imports, ([file]) => file);
const placed = Object.entries(linesOf).flatMap(([file, list]) =>
  (list ?? []).map(([, specifier, rule], index) => ({ file, specifier, rule, line: index + 1 })),
);

describe("the lint rules", () => {
  let folder: string;
  let findings: Finding[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "drover-lint-"));
    await Promise.all(
      [".oxlintrc.json", "tsconfig.json", "package.json"].map((name) =>
        cp(join(root, name), join(folder, name)),
      ),
    );
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    for (const [file, list] of Object.entries(linesOf))
      await put(file, (list ?? []).map(([, specifier]) => `import "${specifier}";\n`).join(""));
    for (const [index, [text]] of habits.entries()) await put(`shared/habit-${index}.ts`, `${text}\n`);
    for (const room of neutral)
      for (const [index, [text]] of runtimes.entries()) await put(`${room}/runtime-${index}.ts`, `${text}\n`);
    for (const [index, [text]] of runtimes.entries())
      await put(`control-plane/entry/runtime-${index}.ts`, `${text}\n`);
    await put(
      "shared/egg.ts",
      'import { hen } from "#shared/hen.ts";\nexport const egg: unknown = () => hen;\n',
    );
    await put("shared/hen.ts", 'import { egg } from "./egg.ts";\nexport const hen: unknown = () => egg;\n');
    findings = await lint(folder);
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(placed.filter((each) => each.rule !== undefined))("keep $specifier out of $file", (banned) => {
    expect(importRulesOn(banned)).toEqual([banned.rule]);
  });

  it.each(placed.filter((each) => each.rule === undefined))("let $file import $specifier", (allowed) => {
    expect(importRulesOn(allowed)).toEqual([]);
  });

  it.each(habits.map(([text, rule], index) => ({ text, rule, index })))(
    "bite by $rule",
    ({ rule, index }) => {
      expect(rulesOn(`shared/habit-${index}.ts`)).toContain(rule);
    },
  );

  it.each(neutral.flatMap((room) => runtimes.map(([text, rule], index) => ({ room, text, rule, index }))))(
    "keep $room off runtimes: $text",
    ({ room, rule, index }) => {
      expect(rulesOn(`${room}/runtime-${index}.ts`)).toContain(rule);
    },
  );

  it("let an entry use its runtime", () => {
    const found = runtimes.flatMap((_, index) => rulesOn(`control-plane/entry/runtime-${index}.ts`));
    expect(found.filter((rule) => rule.startsWith("no-restricted"))).toEqual([]);
  });

  it("see an import cycle through #shared", () => {
    expect(rulesOn("shared/egg.ts")).toContain("no-cycle");
  });

  const put = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  };

  const rulesOn = (file: string): string[] =>
    findings.filter((each) => each.filename === file).map((each) => ruleName(each.code));

  // The fixtures import each other in circles, which is another rule's business.
  const importRulesOn = ({ file, line }: { file: string; line: number }): string[] =>
    findings
      .filter((each) => each.filename === file && each.labels[0]?.span.line === line)
      .map((each) => ruleName(each.code))
      .filter((rule) => rule !== "no-cycle");
});

const ruleName = (code: string): string => /\(([^)]+)\)/.exec(code)?.[1] ?? code;

async function lint(folder: string): Promise<Finding[]> {
  const options = {
    cwd: folder,
    reject: false,
    preferLocal: true,
    localDir: root,
    timeout: 50_000,
    stdin: "ignore",
  } as const;
  const { stdout } = await execa(
    "oxlint",
    ["--type-aware", "--format=json", "--ignore-pattern=node_modules"],
    options,
  );
  return (JSON.parse(stdout) as { diagnostics: Finding[] }).diagnostics;
}
