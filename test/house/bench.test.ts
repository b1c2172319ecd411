import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const run = promisify(execFile);
const main = join(import.meta.dirname, "../../bench/main.ts");

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "drover-house-bench-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const bench = (...words: string[]) =>
  run(process.execPath, [main, ...words], { env: { ...process.env, TMPDIR: folder } });

it("measures the product as it is shipped, and leaves no program and no folder", async () => {
  const json = join(folder, "results.json");
  const { stdout } = await bench("--only", "exec,follow,ready,hop", "--scale", "0.01", "--json", json);
  expect(stdout).toMatch(/exec p50 \/ spawn p50 .* <= 4/);
  const { figures } = JSON.parse(await readFile(json, "utf8")) as {
    figures: Record<string, { value: number }[]>;
  };
  expect(Object.keys(figures)).toEqual(["exec", "follow", "ready", "hop"]);
  for (const { value } of Object.values(figures).flat()) expect(value).toBeGreaterThan(0);
  expect(await readdir(folder)).toEqual(["results.json"]);
  expect(await programsIn(folder)).toEqual([]);
});

it("brings a fleet of 2,000 simulated agents online, and back after its control plane was killed", async () => {
  const json = join(folder, "results.json");
  await bench("--only", "fleet", "--agents", "2000", "--scale", "0.1", "--json", json);
  const { figures } = JSON.parse(await readFile(json, "utf8")) as {
    figures: { fleet: { name: string; value: number }[] };
  };
  const values = new Map(figures.fleet.map(({ name, value }) => [name, value]));
  expect(values.get("agents online")).toBe(2000);
  const wanted = [
    "resident memory a connection",
    "CPU of the control plane at rest",
    "ping to pong p99",
    "request to start frame p99",
    "half of the agents are back",
    "all agents are back",
    "commits an agent",
  ];
  expect(wanted.filter((name) => !((values.get(name) ?? 0) > 0))).toEqual([]);
  expect(await readdir(folder)).toEqual(["results.json"]);
  expect(await programsIn(folder)).toEqual([]);
}, 600_000);

it("names a figure that it does not know", async () => {
  await expect(bench("--only", "speed")).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("speed"),
  });
});

async function programsIn(place: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  // Gone while we looked.
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")),
  );
  return lines.filter((line) => line.includes(place));
}
