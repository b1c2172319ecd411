import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layCheckout, type Checkout } from "./checkout.ts";

/** A CLI that says its pid, then what signals it gets; it ends by itself at the third, or by code or signal as told. */
const living = `export const main = (argv: string[]): Promise<number> => {
  if (argv[0] === "die") process.kill(process.pid, argv[1]);
  if (argv[0] === "code") return Promise.resolve(Number(argv[1]));
  if (argv[0] === "cat") { process.stdin.pipe(process.stdout); return Promise.resolve(0); }
  return new Promise((resolve) => {
    let got = 0;
    const idle = setInterval(() => {}, 1000);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      if (argv[0] === "listen") process.on(signal, () => {
        console.log(signal);
        if (++got === 3) { clearInterval(idle); resolve(3); }
      });
    console.log(JSON.stringify({ pid: process.pid, node: process.versions.node, env: process.env.DROVER_OLD_NODE ?? "" }));
  });
};
`;

interface Started {
  run: ReturnType<Checkout["drover"]>;
  lines: AsyncIterator<string>;
  behind: { pid: number; node: string; env: string };
}

async function startOld(args: string[]): Promise<Started> {
  const checkout = await layCheckout(living);
  const run = checkout.drover(args, { old: true });
  const lines = run.iterable()[Symbol.asyncIterator]() as AsyncIterator<string>;
  const { value } = await lines.next();
  return { run, lines, behind: JSON.parse(String(value)) };
}

describe("an old Node in front of the checkout's own", () => {
  it("hands over to it and leaves no trace in its environment", async () => {
    const { run, behind } = await startOld(["wait"]);
    expect(behind).toMatchObject({ node: process.versions.node, env: "" });
    expect(behind.pid).not.toBe(run.pid);
    run.kill("SIGTERM");
    await run;
  });

  it.each([0, 1, 124, 255])("ends with the exit code %i of the one behind", async (code) => {
    const checkout = await layCheckout(living);
    const { exitCode } = await checkout.drover(["code", String(code)], { old: true });
    expect(exitCode).toBe(code);
  });

  it.each(["SIGTERM", "SIGKILL", "SIGINT"])("dies by %s when the one behind does", async (signal) => {
    const checkout = await layCheckout(living);
    const ending = await checkout.drover(["die", signal], { old: true });
    expect(ending.signal).toBe(signal);
  });

  it("gives standard input and output through", async () => {
    const checkout = await layCheckout(living);
    const { stdout } = await checkout.drover(["cat"], {
      old: true,
      stdin: "pipe",
      input: "through and through",
    });
    expect(stdout).toBe("through and through");
  });

  it("passes each signal on once", async () => {
    const { run, lines } = await startOld(["listen"]);
    const heard: unknown[] = [];
    for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) {
      run.kill(signal);
      heard.push((await lines.next()).value);
    }
    expect(heard).toEqual(["SIGINT", "SIGHUP", "SIGTERM"]);
    expect((await run).exitCode).toBe(3);
  });

  it("does not pass on twice what its whole group receives", async () => {
    const checkout = await layCheckout(living);
    const run = checkout.drover(["listen"], { old: true, detached: true });
    const lines = run.iterable()[Symbol.asyncIterator]();
    await lines.next();
    const heard: unknown[] = [];
    for (const signal of ["SIGINT", "SIGINT", "SIGTERM"] as const) {
      process.kill(-(run.pid ?? Number.NaN), signal);
      heard.push((await lines.next()).value);
    }
    expect(heard).toEqual(["SIGINT", "SIGINT", "SIGTERM"]);
    expect((await run).exitCode).toBe(3);
  });

  it("takes the one behind along when it is killed outright", async () => {
    const { run, lines } = await startOld(["listen"]);
    run.kill("SIGKILL");
    // Output ends when the last process that can write to it is gone.
    expect((await lines.next()).done).toBe(true);
    await run;
  });

  it("says what is missing where the checkout has no Node of its own", async () => {
    const checkout = await layCheckout(living);
    await rm(join(checkout.folder, "node_modules"));
    const { stderr, exitCode } = await checkout.drover(["wait"], { old: true });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^drover: needs Node 22\.18 or newer, and this is v[\d.]+: run `npm ci` in .+ to install the one it brings$/,
    );
  });

  it("says so as well where that Node cannot be run", async () => {
    const checkout = await layCheckout(living);
    await rm(join(checkout.folder, "node_modules"));
    await mkdir(join(checkout.folder, "node_modules/.bin"), { recursive: true });
    await writeFile(join(checkout.folder, "node_modules/.bin/node"), "no program");
    const { stderr, exitCode } = await checkout.drover(["wait"], { old: true });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^drover: needs Node 22\.18/);
  });
});
