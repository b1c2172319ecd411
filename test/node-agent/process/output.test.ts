import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isFinal } from "#shared/process-state.ts";
import { slackBytes, wantedGap } from "../../../node-agent/process/disk-bound.ts";
import { keptRanges } from "../../../node-agent/process/output.ts";
import { wantedRanges } from "../../../node-agent/process/reading.ts";
import { Bench, newMark } from "../../support/engine.ts";

const MiB = 1024 * 1024;

describe("recorded output", () => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench()));
  afterAll(() => bench.close());

  it("is whole when the ending is reported, to the last byte", async () => {
    const ids = Array.from({ length: 40 }, () =>
      bench.start("head -c 60000 /dev/zero | tr '\\0' x; echo END"),
    );
    for (const id of ids) {
      expect(await bench.final(id)).toMatchObject({ exitCode: 0, totalBytes: 60_004 });
      expect((await bench.text(id)).endsWith("xEND\n")).toBe(true);
    }
  });

  it("keeps bytes that are no text, with their count", async () => {
    const ended = await bench.run("printf 'a\\000b\\377\\n'; printf '\\342\\202'");
    expect(ended.totalBytes).toBe(7);
    expect([...(await bench.bytes(ended.id))]).toEqual([97, 0, 98, 255, 10, 0xe2, 0x82]);
  });

  it("keeps stdout and stderr apart when split", async () => {
    const ended = await bench.run("echo out; echo err >&2; echo out2", { output: "split" });
    expect(await bench.text(ended.id, "stdout")).toBe("out\nout2\n");
    expect(await bench.text(ended.id, "stderr")).toBe("err\n");
    expect(ended).toMatchObject({ totalBytes: 13, lines: 3 });
  });

  it("counts lines, a last one without newline too, and leaves the count out above 1 MiB", async () => {
    expect((await bench.run("seq 1 300; printf x")).lines).toBe(301);
    expect((await bench.run("true")).lines).toBe(0);
    expect((await bench.run("head -c 1048577 /dev/zero")).lines).toBeNull();
  });

  it("reports head and tail that meet where everything fits", async () => {
    const ended = await bench.run("head -c 20000 /dev/zero | tr '\\0' a");
    const [snapshot] = ended.snapshots;
    const bytes = (b64 = "") => Buffer.from(b64, "base64").length;
    expect([bytes(snapshot?.head), bytes(snapshot?.tail), snapshot?.totalBytes]).toEqual([
      16_384, 3616, 20_000,
    ]);
  });

  it("streams what is written while it is written, once and in order, to a reader that pauses", async () => {
    const id = bench.start("for i in $(seq 1 20); do seq 1 2000; sleep 0.01; done");
    const parts: Buffer[] = [];
    let end = 0;
    const ended = bench.final(id);
    const follower = bench.supervisor.follow(id, "merged", 0, (chunk) => {
      expect(chunk.from).toBe(end);
      end = chunk.to;
      parts.push(Buffer.from(chunk.bytes ?? []));
      setTimeout(() => follower?.resume(), 1);
      return false;
    });
    const total = (await ended).totalBytes;
    await bench.until(id, () => end === total);
    follower?.close();
    expect(Buffer.concat(parts).equals(await bench.bytes(id))).toBe(true);
  });

  it("returns at once when a child keeps the output open, and goes on recording it", async () => {
    const mark = newMark();
    const ended = await bench.run(`echo started; sleep ${mark} &`);
    expect(ended).toMatchObject({ status: "exited", exitCode: 0, totalBytes: 8 });
    expect(ended.survivors.map((survivor) => survivor.command)).toEqual([`sleep ${mark}`]);
    bench.supervisor.stop(ended.id, { graceMs: 0, reason: "stopped" });
    expect(await bench.until(ended.id, (report) => report.survivors.length === 0)).toMatchObject({
      status: "exited",
      exitCode: 0,
    });
  });

  it("waits for last lines that come shortly after the leader", async () => {
    const ended = await bench.run("(for i in 1 2 3 4 5 6; do sleep 0.06; echo line$i; done) & exit 0");
    expect(await bench.text(ended.id)).toBe("line1\nline2\nline3\nline4\nline5\nline6\n");
  });

  it("sweeps what outlives the leader where that was asked for", async () => {
    const id = bench.start(`sleep ${newMark()} & exit 3`, { keepDescendants: false });
    expect(await bench.final(id)).toMatchObject({ status: "exited", exitCode: 3 });
    await bench.until(id, (report) => report.survivors.length === 0);
  });
});

describe.each([
  ["punched holes", undefined],
  ["a shortened file", "no-fallocate"],
])("a bounded log with %s", (_how, without) => {
  let bench: Bench;
  const path = process.env.PATH;
  beforeAll(() => {
    if (without) process.env.PATH = "/nonexistent";
    bench = new Bench();
  });
  afterAll(async () => {
    process.env.PATH = path;
    await bench.close();
  });

  it("keeps head, tail, count and offsets while the middle goes", async () => {
    const command = "/usr/bin/seq 1 3000000";
    const id = bench.start(`${command}; /bin/sleep 1; echo TAIL`, {
      limits: undefined,
      logBytes: 2 * MiB,
    } as never);
    const ended = await bench.final(id);
    const total = 22_888_896 + 5;
    expect(ended).toMatchObject({ status: "exited", exitCode: 0, totalBytes: total });
    await bench.until(id, (report) => report.omittedBytes > 18 * MiB);
    const text = await bench.text(id);
    expect(text.startsWith("1\n2\n3\n")).toBe(true);
    expect(text.endsWith("2999999\n3000000\nTAIL\n")).toBe(true);
    const folder = join(bench.dir, "procs", id);
    const kept = readdirSync(folder).reduce(
      (sum, name) => sum + statSync(join(folder, name)).blocks * 512,
      0,
    );
    expect(kept).toBeLessThan(3 * MiB);
  });

  it("is under its bound in the end, also where a flood ended while it was brought under it", async () => {
    const flood = "/usr/bin/yes 123456789 | /usr/bin/head -c 40000000";
    const ids = Array.from({ length: 8 }, () =>
      bench.start(flood, { limits: undefined, logBytes: MiB } as never),
    );
    for (const id of ids) {
      expect(await bench.final(id)).toMatchObject({ exitCode: 0, totalBytes: 40_000_000 });
      await bench.until(id, (report) => report.omittedBytes >= 39_000_000 - 64 * 1024);
    }
  });

  it("is told as ended only with what is kept for good, however early somebody asks", async () => {
    const id = bench.start("/usr/bin/yes 0123456 | /usr/bin/head -c 2000000", { logBytes: 65_536 });
    let told = bench.supervisor.report(id);
    while (told === undefined || !isFinal(told.status)) {
      await setImmediate();
      told = bench.supervisor.report(id);
    }
    expect(told).toMatchObject({ status: "exited", totalBytes: 2_000_000 });
    expect(told.omittedBytes).toBeGreaterThan(1_900_000);
  });
});

describe("pure rules of output", () => {
  it("leaves out the gap of a range", () => {
    const gap = { from: 10, to: 20, shift: 0 };
    expect(keptRanges({ from: 0, to: 30 }, gap)).toEqual([
      { from: 0, to: 10 },
      { from: 20, to: 30 },
    ]);
    expect(keptRanges({ from: 12, to: 18 }, gap)).toEqual([]);
    expect(keptRanges({ from: 5, to: 15 }, gap)).toEqual([{ from: 5, to: 10 }]);
    expect(keptRanges({ from: 0, to: 0 }, { from: 0, to: 0, shift: 0 })).toEqual([]);
  });

  it("widens a gap only forward, and only when the bound is passed", () => {
    const bounds = { boundBytes: 8 * MiB, slack: MiB };
    const none = { from: 0, to: 0, shift: 0 };
    expect(wantedGap(9 * MiB, bounds, none)).toBeNull();
    const first = wantedGap(9 * MiB + 1, bounds, none);
    expect(first).toEqual({ from: MiB, to: 4 * MiB });
    expect(wantedGap(20 * MiB, bounds, { ...(first ?? none), shift: 0 })).toEqual({
      from: MiB,
      to: 15 * MiB,
    });
  });

  it("lets a bound be passed only as far as the disk has room", () => {
    expect(slackBytes(64 * MiB, 80 * 1024 * MiB)).toBe(512 * MiB);
    expect(slackBytes(64 * MiB, 64 * MiB)).toBe(MiB);
    expect(slackBytes(MiB, 80 * 1024 * MiB)).toBe(8 * MiB);
  });

  it("joins head, tail and range where they touch", () => {
    expect(wantedRanges({ head: 10, tail: 10 }, 15)).toEqual([{ from: 0, to: 15 }]);
    expect(wantedRanges({ head: 10, tail: 10 }, 100)).toEqual([
      { from: 0, to: 10 },
      { from: 90, to: 100 },
    ]);
    expect(wantedRanges({ from: 5, to: 200 }, 100)).toEqual([{ from: 5, to: 100 }]);
    expect(wantedRanges({}, 100)).toEqual([]);
  });
});
