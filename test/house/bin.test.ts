import { chmod, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { describe, expect, it } from "vitest";
import { layCheckout } from "./checkout.ts";

const root = join(import.meta.dirname, "../..");

/** A CLI that says where it runs from and what it was given, and ends with 7. */
const telling = `export const main = async (argv: string[]): Promise<number> => {
  console.log(JSON.stringify({ from: import.meta.url, argv, node: process.versions.node }));
  return 7;
};
`;

const told = (stdout: string): { from: string; argv: string[]; node: string } => JSON.parse(stdout);

describe("bin/drover.js", () => {
  it("builds a bundle quietly, runs it, and gives its arguments and exit code through", async () => {
    const checkout = await layCheckout(telling);
    const { stdout, stderr, exitCode } = await checkout.drover(["a b", "--c"]);
    const [bundle] = await checkout.bundles();
    expect({ exitCode, stderr, ...told(stdout) }).toMatchObject({
      exitCode: 7,
      stderr: "",
      argv: ["a b", "--c"],
    });
    expect(told(stdout).from).toBe(pathToFileURL(join(checkout.folder, "dist", bundle ?? "", "cli.js")).href);
  });

  it("runs the bundle it has while the sources stay as they are", async () => {
    const checkout = await layCheckout(telling);
    const first = await checkout.drover([]);
    const second = await checkout.drover([]);
    expect(told(second.stdout).from).toBe(told(first.stdout).from);
  });

  it("builds again when a source was changed, added or removed", async () => {
    const checkout = await layCheckout(telling);
    const run = async (): Promise<string> => told((await checkout.drover([])).stdout).from;
    const seen = [await run()];
    await checkout.put("cli/main.ts", `${telling}// changed\n`);
    seen.push(await run());
    await checkout.put("shared/added.ts", "export const added = 1;\n");
    seen.push(await run());
    await checkout.remove("shared/added.ts");
    expect(new Set(seen).size).toBe(3);
    expect(await run()).toBe(seen[1]);
  });

  it("runs the sources unbuilt with DROVER_SOURCE=1", async () => {
    const checkout = await layCheckout(telling);
    const { stdout } = await checkout.drover([], { env: { DROVER_SOURCE: "1" } });
    expect(told(stdout).from).toBe(pathToFileURL(join(checkout.folder, "cli/main.ts")).href);
  });

  it("runs the sources unbuilt where dist cannot be written", async () => {
    const checkout = await layCheckout(telling);
    await writeFile(join(checkout.folder, "dist"), "a file in the way");
    const { stdout, stderr } = await checkout.drover([]);
    expect(stderr).toBe("");
    expect(told(stdout).from).toMatch(/cli\/main\.ts$/);
  });

  it.skipIf(process.getuid?.() !== 0)("runs for a user who may not write to the checkout", async () => {
    const checkout = await layCheckout(telling);
    await chmod(checkout.folder, 0o755);
    const { stdout, stderr } = await checkout.drover([], { uid: 65_534, gid: 65_534 });
    expect(stderr).toBe("");
    expect(told(stdout).from).toMatch(/cli\/main\.ts$/);
    expect(await readdir(checkout.folder)).not.toContain("dist");
  });

  it("runs the bundle alone where there are no sources, as in the published package", async () => {
    const checkout = await layCheckout(telling);
    await checkout.drover([]);
    await checkout.remove("cli");
    await checkout.remove("build.mjs");
    await rm(join(checkout.folder, "node_modules"));
    const { stdout, exitCode } = await checkout.drover([]);
    expect(exitCode).toBe(7);
    expect(told(stdout).from).toMatch(/dist\/[0-9a-f]{16}\/cli\.js$/);
  });

  it("says that packages are missing in a checkout without them", async () => {
    const checkout = await layCheckout(
      'import "a-package-that-is-not-there";\nexport const main = () => 0;\n',
    );
    await rm(join(checkout.folder, "node_modules"));
    const { stderr, exitCode } = await checkout.drover([]);
    expect({ stderr, exitCode }).toEqual({
      stderr: `drover: its packages are not installed: run \`npm ci\` in ${checkout.folder}`,
      exitCode: 2,
    });
  });

  it.each(["drover.js", "own-node.js", "sources.js"])(
    "has nothing in %s that Node 12 cannot parse",
    async (name) => {
      const text = await readFile(join(root, "bin", name), "utf8");
      const [old, current] = await Promise.all([
        transform(text, { target: "node12.22" }),
        transform(text, { target: "esnext" }),
      ]);
      expect(old.code).toBe(current.code);
      expect(text).not.toMatch(/from "node:|import\("node:|^await |\.at\(|replaceAll|Object\.hasOwn/m);
    },
  );
});
