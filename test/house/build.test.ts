import { join } from "node:path";
import { execa } from "execa";
import type { Metafile } from "esbuild";
import { describe, expect, it } from "vitest";
import { layCheckout, type Checkout } from "./checkout.ts";

const root = join(import.meta.dirname, "../..");

interface Build {
  bundle: (root: string, outdir: string) => Promise<Metafile>;
}

const { bundle } = (await import("../../build.mjs" as string)) as Build;

const cli = `export const main = async (argv: string[]): Promise<number> => {
  if (argv[0] === "agent") return (await import("../node-agent/main.ts")).main();
  return (await import("../control-plane/entry/node.ts")).main();
};
`;

async function layRooms(): Promise<Checkout> {
  const checkout = await layCheckout(cli);
  await checkout.put("shared/word.ts", 'export const word = "shared";\n');
  await checkout.put(
    "node-agent/main.ts",
    'import { WebSocket } from "ws";\nimport { word } from "#shared/word.ts";\nexport const main = (): number => (word && WebSocket ? 3 : 0);\n',
  );
  await checkout.put(
    "control-plane/entry/node.ts",
    'import { Hono } from "hono";\nimport postgres from "postgres";\nimport { word } from "#shared/word.ts";\nexport const main = (): number => (word && Hono && postgres ? 4 : 0);\n',
  );
  return checkout;
}

/** The sources that are read when this bundle is loaded, its static imports included. */
function loaded(metafile: Metafile, entry: string): string[] {
  const seen = new Set<string>();
  const visit = (output: string): void => {
    if (seen.has(output)) return;
    seen.add(output);
    for (const { path, kind } of metafile.outputs[output]?.imports ?? [])
      if (kind === "import-statement") visit(path);
  };
  const first = Object.keys(metafile.outputs).find((output) => output.endsWith(`/${entry}.js`));
  if (first !== undefined) visit(first);
  return [...seen].flatMap((output) => Object.keys(metafile.outputs[output]?.inputs ?? {}));
}

const ofControlPlane = /^(control-plane|drizzle)\/|node_modules\/(hono|@hono|drizzle-orm|postgres)\//;

describe("the build", () => {
  it("keeps the control plane out of what the CLI and the agent load", async () => {
    const checkout = await layRooms();
    const metafile = await bundle(checkout.folder, join(checkout.folder, "out"));
    expect(loaded(metafile, "agent")).toContain("node-agent/main.ts");
    expect(loaded(metafile, "control-plane").some((file) => ofControlPlane.test(file))).toBe(true);
    expect(loaded(metafile, "agent").filter((file) => ofControlPlane.test(file))).toEqual([]);
    expect(loaded(metafile, "cli")).toEqual(["cli/main.ts"]);
  });

  it("does so with the real sources too", async () => {
    const { folder } = await layCheckout("");
    const metafile = await bundle(root, join(folder, "out"));
    const files = [...loaded(metafile, "agent"), ...loaded(metafile, "cli")];
    expect(files.filter((file) => ofControlPlane.test(file))).toEqual([]);
  });

  it("makes bundles whose packages find Node's own modules", async () => {
    const checkout = await layRooms();
    expect((await checkout.drover(["agent"])).exitCode).toBe(3);
    expect((await checkout.drover(["serve"])).exitCode).toBe(4);
  });

  it("keeps a worker thread in a file of its own, reached alike from source and bundle", async () => {
    const checkout = await layCheckout(`import { Worker } from "node:worker_threads";
const file = new URL(import.meta.url.endsWith(".ts") ? "./count-worker.ts" : "./count-worker.js", import.meta.url);
export const main = (): Promise<number> => new Promise((resolve) => new Worker(file).on("message", resolve));
`);
    await checkout.put(
      "cli/count-worker.ts",
      'import { parentPort } from "node:worker_threads";\nparentPort?.postMessage(5 as number);\n',
    );
    expect((await checkout.drover([])).exitCode).toBe(5);
    expect((await checkout.drover([], { env: { DROVER_SOURCE: "1" } })).exitCode).toBe(5);
  });

  it("leaves one whole bundle when several build at once", async () => {
    const checkout = await layRooms();
    const runs = await Promise.all(Array.from({ length: 4 }, () => checkout.drover(["agent"])));
    expect(runs.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
      Array.from({ length: 4 }, () => ({ exitCode: 3, stderr: "" })),
    );
    expect(await checkout.bundles()).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
  });

  it("fails and says where when a source cannot be parsed", async () => {
    const checkout = await layCheckout("export const main = (;\n");
    const { exitCode, stderr } = await execa(process.execPath, ["build.mjs"], {
      cwd: checkout.folder,
      reject: false,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("cli/main.ts:1:");
    expect(await checkout.bundles()).toEqual([]);
  });

  it("writes the version of the package into the bundle", async () => {
    const checkout = await layCheckout(
      "declare const __DROVER_VERSION__: string;\nexport const main = (): number => Number(__DROVER_VERSION__.split('.').length);\n",
    );
    expect((await checkout.drover([])).exitCode).toBe(3);
  });
});
