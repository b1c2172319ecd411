// Takes the figures one after the other, prints them, and leaves nothing behind: every program it started is ended and
// its folder removed, also when a figure fails or Ctrl-C comes.

import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Figure, Result } from "./figure.ts";
import { cli } from "./figures/cli.ts";
import { exec } from "./figures/exec.ts";
import { fleet } from "./figures/fleet.ts";
import { follow } from "./figures/follow.ts";
import { guard } from "./figures/guard.ts";
import { hop } from "./figures/hop.ts";
import { producer } from "./figures/producer.ts";
import { rate } from "./figures/rate.ts";
import { ready } from "./figures/ready.ts";
import { soak } from "./figures/soak.ts";
import { start } from "./figures/start.ts";
import { readOptions, usage, type Options } from "./options.ts";
import { startProduct, type Product } from "./product.ts";
import { layShipped } from "./shipped.ts";
import { heading, machine, table, writeJson } from "./report.ts";

const figures: Figure[] = [exec, rate, producer, follow, start, ready, hop, cli, guard, soak, fleet];
const wholeRunMs = 30 * 60_000;

async function main(options: Options): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), "drover-bench-"));
  await chmod(root, 0o755);
  const opened: Opening[] = [];
  const stop = interruption();
  try {
    const work = layShipped(join(root, "package")).then((bin) =>
      takeAll(options, benchIn({ root, bin, opened }, options)),
    );
    return await Promise.race([stop, work]);
  } finally {
    for (const opening of opened.toReversed())
      // What did not open has ended itself, and its figure has said so.
      await opening.then((what) => what.close()).catch(() => undefined);
    await rm(root, { recursive: true, force: true });
  }
}

const interruption = (): Promise<number> =>
  new Promise((resolve) => {
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const)
      process.once(signal, () => resolve(code));
    setTimeout(() => {
      console.error(`bench: not done after ${wholeRunMs / 60_000} minutes`);
      resolve(1);
    }, wholeRunMs).unref();
  });

type Opening = Promise<{ close(): Promise<void> }>;
type Place = { root: string; bin: string; opened: Opening[] };

function benchIn({ root, bin, opened }: Place, { profile, scale, agents }: Options): Bench {
  let common: Promise<Product> | undefined;
  const own: Bench["own"] = (opening) => {
    opened.push(opening);
    return opening;
  };
  const fresh: Bench["fresh"] = (controlPlane) =>
    own(startProduct({ bin, folder: join(root, `product-${opened.length}`), profile, controlPlane }));
  return {
    own,
    bin,
    agents,
    profile,
    shared: () => (common ??= fresh()),
    fresh,
    async folder(name) {
      await mkdir(join(root, name));
      return join(root, name);
    },
    times: (count, least = 1) => Math.max(least, Math.round(count * scale)),
    note: (text) => console.log(`  ${text}`),
  };
}

async function takeAll({ only, json }: Options, bench: Bench): Promise<number> {
  const facts = machine();
  console.log(heading(facts));
  const results: Record<string, Result[]> = {};
  for (const figure of figures.filter(({ name }) => only.includes(name))) {
    const taken = await figure.take(bench);
    results[figure.name] = taken;
    console.log(table(figure.name, taken));
  }
  if (json !== undefined) await writeJson(json, facts, results);
  return 0;
}

async function run(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options !== undefined) return await main(options);
    console.log(usage);
    return 0;
  } catch (error) {
    console.error("bench:", error);
    return 1;
  }
}

// What a failed figure has left open must not keep the bench alive.
process.exit(await run());
