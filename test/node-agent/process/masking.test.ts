import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { GrepReply, WaitReply } from "#shared/link/frames.ts";
import type { EngineAnswer } from "../../../node-agent/engine.ts";
import { nodePolicy } from "../../../node-agent/policy-file.ts";
import { maskOf, masked } from "../../../node-agent/process/mask.ts";
import { writeMask } from "../../../node-agent/process/masking.ts";
import { headTail, readRange } from "../../../node-agent/process/output.ts";
import { FileFollower } from "../../../node-agent/process/follower.ts";
import { Bench, newMark, temporaryFolder } from "../../support/engine.ts";
import { type StreamFolder, streamFolder } from "./stream-folder.ts";

const value = "correct-horse-battery";
const stars = "*".repeat(value.length);
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const given = { env: { TOKEN: value }, masks: [value] };
const text = (bytes: Uint8Array | string | undefined): string =>
  (typeof bytes === "string" ? Buffer.from(bytes, "base64") : Buffer.from(bytes ?? [])).toString();
const valueOf = <T>(answer: EngineAnswer): T => {
  if ("error" in answer) throw new Error(answer.error.message);
  return answer.value as T;
};

describe("the output of a process that was given a secret", () => {
  let bench: Bench;
  beforeAll(() => (bench = new Bench()));
  afterAll(() => bench.close());

  it("shows stars for it in reads, snapshots, searches and waits, also to the next agent", async () => {
    const ended = await bench.run('echo "a $TOKEN b"; printf %s "$TOKEN" | base64; echo c', given);
    const expected = `a ${stars} b\n`;
    const look = async () => {
      expect(await bench.text(ended.id)).toMatch(new RegExp(`^${expected.replaceAll("*", "\\*")}\\*+\nc\n$`));
      expect(text(bench.latest(ended.id)?.snapshots[0]?.head)).toContain(expected);
      expect(bench.latest(ended.id)).toMatchObject({ totalBytes: ended.totalBytes, lines: 3 });
      for (const regex of [false, true]) {
        const asked = { rid: "r", id: ended.id, stream: "merged", regex } as const;
        const none = { ...asked, type: "grep", from: 0, limit: 9, context: 2 } as const;
        const signal = new AbortController().signal;
        const grep = async (pattern: string) =>
          valueOf<GrepReply>(await bench.supervisor.grep({ ...none, pattern }, signal)).matches;
        expect(await grep("horse")).toEqual([]);
        expect(await grep("c")).toMatchObject([
          { text: "c", before: [expected.trim(), expect.stringMatching(/^\*+$/)] },
        ]);
        const wait = (pattern: string) =>
          bench.supervisor.wait(
            { ...asked, type: "wait", waitMs: 10, pattern: { text: pattern, regex } },
            signal,
          );
        expect(valueOf<WaitReply>(await wait("horse"))).toEqual({ met: null });
        expect(valueOf<WaitReply>(await wait("a "))).toMatchObject({ match: { text: expected.trim() } });
      }
    };
    await look();
    await bench.restart();
    bench.supervisor.stop(ended.id, { graceMs: 0, reason: "stopped" });
    await bench.until(ended.id, ({ revision }) => revision > ended.revision);
    await look();
  });

  it("keeps the values in a file for the agent's user alone, and in no other but what the command wrote", async () => {
    const ended = await bench.run("true", { ...given, output: "split" });
    const folder = join(bench.dir, "procs", ended.id);
    expect(statSync(join(folder, "mask")).mode & 0o777).toBe(0o600);
    const { stdout } = await execa("grep", ["-rl", value, folder], { reject: false });
    expect(stdout).toBe(join(folder, "mask"));
  });

  it("hides it in both streams of a split process and in the arguments of what lives on", async () => {
    const mark = newMark();
    const ended = await bench.run(
      `echo "$TOKEN"; echo "$TOKEN" >&2; sh -c 'sleep ${mark}; true' "$TOKEN" >/dev/null 2>&1 &`,
      { ...given, output: "split" },
    );
    expect([await bench.text(ended.id, "stdout"), await bench.text(ended.id, "stderr")]).toEqual([
      `${stars}\n`,
      `${stars}\n`,
    ]);
    expect(JSON.stringify(ended.survivors)).toContain(stars);
    expect(JSON.stringify(bench.reports)).not.toContain(value);
    bench.supervisor.stop(ended.id, { graceMs: 0, reason: "stopped" });
    await bench.until(ended.id, ({ survivors }) => survivors.length === 0);
  });

  it("hides it in the words of a refusal", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "policy.json");
    writeFileSync(file, JSON.stringify({ refusePrograms: [value] }));
    const strict = new Bench({ policy: nodePolicy(file, silent) });
    const ended = await strict.run('"$TOKEN" now', given);
    expect(ended).toMatchObject({ status: "failed", reason: "command_refused" });
    expect(ended.detail).toContain(`runs ${stars}`);
    await strict.close();
    rmSync(folder, { recursive: true });
  });

  it("shows a follower nothing of a value that is written in two halves", async () => {
    const got: string[] = [];
    const id = bench.start('printf "> correct-horse"; sleep 0.1; echo "-battery <"; echo end', given);
    await bench.running(id);
    const follower = bench.supervisor.follow(id, "merged", 0, ({ bytes }) =>
      Boolean(got.push(text(bytes ?? undefined))),
    );
    await vi.waitFor(() => expect(got.join("")).toContain("end"));
    follower?.close();
    expect(got.join("")).toBe(`> ${stars} <\nend\n`);
  });

  it("shows a follower a beginning that nothing follows after a moment, with stars from 4 bytes on", async () => {
    const got: string[] = [];
    const id = bench.start('printf "login: co"; read -r line; printf "correct"; read -r line', {
      ...given,
      stdin: "pipe",
    });
    await bench.running(id);
    const follower = bench.supervisor.follow(id, "merged", 0, ({ bytes }) =>
      Boolean(got.push(text(bytes ?? undefined))),
    );
    await vi.waitFor(() => expect(got.join("")).toBe("login: co"));
    await bench.supervisor.stdin(id, Buffer.from("\n"), false);
    await vi.waitFor(() => expect(got.join("")).toBe("login: co*******"));
    follower?.close();
    bench.supervisor.stop(id, { graceMs: 0, reason: "stopped" });
    await bench.final(id);
  });
});

describe("a masked stream", () => {
  const open: StreamFolder[] = [];
  afterAll(() => open.forEach((stream) => stream.remove()));
  const streamOf = (written: Buffer, values: string[]): StreamFolder => {
    const stream = streamFolder(written);
    open.push(stream);
    writeMask(stream.folder, values);
    return stream;
  };
  const letters = fc.constantFrom("a", "b", "ab", "aab", "\n", "\r\n", "é");
  const values = fc.array(
    fc.array(letters, { minLength: 2, maxLength: 9 }).map((parts) => `a${parts.join("")}b`),
    { minLength: 1, maxLength: 3 },
  );
  const written = fc
    .array(letters, { minLength: 1, maxLength: 300 })
    .map((parts) => Buffer.from(parts.join("")));
  const cuts = fc.array(fc.nat(600), { maxLength: 12 });

  it("shows the same bytes whatever ranges it is read in", async () => {
    await fc.assert(
      fc.asyncProperty(values, written, cuts, async (secrets, bytes, at) => {
        const { folder } = streamOf(bytes, secrets);
        const mask = maskOf(secrets);
        const whole = mask && masked(bytes, mask, { before: "more", after: "nothing-yet" }).bytes;
        const borders = [0, ...at.map((one) => one % bytes.length), bytes.length].toSorted((a, b) => a - b);
        const parts = await Promise.all(
          borders.slice(1).map((to, i) => readRange(folder, "merged", { from: borders[i] ?? 0, to })),
        );
        expect(Buffer.concat(parts.flat().map((piece) => piece.bytes)).toString("latin1")).toBe(
          whole?.toString("latin1"),
        );
        const n = at[0] ?? 5;
        const { head, tail } = headTail(folder, "merged", n);
        expect([text(head), text(tail)]).toEqual(
          [whole?.subarray(0, n), whole?.subarray(Math.max(Math.min(n, bytes.length), bytes.length - n))].map(
            text,
          ),
        );
      }),
    );
  });

  it("shows nothing of a value that a gap has cut, whatever ranges it is read in", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(60), fc.integer({ min: 1, max: 60 }), cuts, async (from, size, at) => {
        const [before, behind] = ["x".repeat(20), "y".repeat(40)];
        const bytes = Buffer.from(`${before}${value}${behind}`);
        const gap = { from: Math.min(from, bytes.length - 1), to: Math.min(from + size, bytes.length) };
        const { folder, gap: setGap } = streamOf(Buffer.from(bytes).fill(0, gap.from, gap.to), [value]);
        setGap(gap.from, gap.to);
        const borders = [0, ...at.map((one) => one % bytes.length), bytes.length].toSorted((a, b) => a - b);
        for (const [i, to] of borders.slice(1).entries())
          for (const piece of await readRange(folder, "merged", { from: borders[i] ?? 0, to })) {
            const shown = text(piece.bytes);
            expect(shown).toMatch(/^x*\**y*$/);
            expect(piece.bytes.length).toBe(piece.to - piece.from);
          }
      }),
    );
  });

  it("is followed to the same bytes, however it grows", async () => {
    await fc.assert(
      fc.asyncProperty(written, cuts, async (bytes, at) => {
        const values = ["abaab", "bab\nab"];
        const stream = streamOf(Buffer.alloc(0), values);
        const mask = maskOf(values);
        const got: Uint8Array[] = [];
        const follower = new FileFollower(stream.folder, "merged", 0, ({ bytes: chunk }) =>
          Boolean(got.push(chunk ?? new Uint8Array())),
        );
        const borders = [0, ...at.map((one) => one % bytes.length), bytes.length].toSorted((a, b) => a - b);
        for (const [i, to] of borders.slice(1).entries()) {
          stream.write(bytes.subarray(borders[i], to));
          follower.look();
          await new Promise(setImmediate);
        }
        await vi.waitFor(() => expect(Buffer.concat(got).length).toBe(bytes.length));
        follower.close();
        const whole = mask && masked(bytes, mask, { before: "more", after: "more" }).bytes;
        // Where the writer stalls, up to three bytes of a beginning are shown.
        const seen = [...Buffer.concat(got)].map((byte, i) => {
          if (byte !== bytes[i]) return byte === 42 ? "hidden" : "wrong";
          return whole?.[i] === 42 ? "leaked" : "shown";
        });
        expect(seen.join(" ")).not.toMatch(/wrong|(leaked ?){4}/);
      }),
      { numRuns: 30 },
    );
  });

  it("fails its reads when the values cannot be read", async () => {
    const { folder } = streamOf(Buffer.from("abc"), ["abc"]);
    writeFileSync(folder.mask, "[");
    await expect(readRange(folder, "merged", { from: 0, to: 3 })).rejects.toThrow("JSON");
  });
});
