import { afterEach, describe, expect, test } from "vitest";
import type { GrepReply } from "#shared/link/frames.ts";
import type { EngineAnswer } from "../../../node-agent/engine.ts";
import { grep, type GrepRequest } from "../../../node-agent/process/search.ts";
import { SearchThread } from "../../../node-agent/process/search-thread.ts";
import { type StreamFolder, streamFolder } from "./stream-folder.ts";

const open: { stream: StreamFolder; thread: SearchThread }[] = [];
afterEach(async () => {
  for (const { stream, thread } of open.splice(0)) {
    await thread.close();
    stream.remove();
  }
});

const alive = new AbortController().signal;

/** A stream with these bytes, and a search in it. */
const streamOf = (written: string | Uint8Array, thread = new SearchThread()) => {
  const stream = streamFolder(written);
  open.push({ stream, thread });
  const answer = (
    request: Partial<GrepRequest> & { pattern: string },
    signal = alive,
  ): Promise<EngineAnswer> =>
    grep(
      { folder: stream.folder, stream: "merged", regex: false, context: 0, from: 0, limit: 200, ...request },
      signal,
      thread,
    );
  const search = async (request: Partial<GrepRequest> & { pattern: string }): Promise<GrepReply> => {
    const got = await answer(request);
    if ("error" in got) throw new Error(got.error.message);
    return got.value as GrepReply;
  };
  return { ...stream, answer, search, thread };
};

const lines = (count: number): string => Array.from({ length: count }, (_, n) => `line ${n}\n`).join("");
// Takes minutes on 1 MiB of letters, though its time is linear.
const slow = { pattern: "(?:[a-m].{0,300}){3}[0-9]", regex: true };
const letters = Buffer.from(
  Array.from({ length: 1024 * 1024 }, (_, n) => 97 + (((n * n * 7919 + n * 31) >> 3) % 13)),
);

describe.each([false, true])("a search (expression: %s)", (regex) => {
  test("answers the lines that match with their bytes and the lines around", async () => {
    const { search } = streamOf("one\ntwo\nthree\nfour\nfive");
    expect(await search({ pattern: "three", regex, context: 2 })).toEqual({
      matches: [{ from: 8, to: 13, text: "three", before: ["one", "two"], after: ["four", "five"] }],
      next: 23,
      totalBytes: 23,
    });
  });

  test("counts in bytes and shows what is no text as replacement characters", async () => {
    const { search } = streamOf(
      Buffer.concat([Buffer.from("é é\n"), Buffer.from([0xff, 0x00, 0x7a, 0x0a]), Buffer.from("end")]),
    );
    expect((await search({ pattern: "z", regex })).matches).toEqual([
      { from: 6, to: 9, text: "\uFFFD\uFFFDz", before: [], after: [] },
    ]);
  });

  test("finds a line once, however often it matches, and the last one without a newline", async () => {
    const { search } = streamOf("aaa\nb\n\naa");
    expect((await search({ pattern: "a", regex })).matches.map((match) => match.from)).toEqual([0, 7]);
  });

  test("goes on behind the line that filled the limit", async () => {
    const { search } = streamOf(lines(30));
    const first = await search({ pattern: "1", regex, limit: 3 });
    expect(first.matches.map((match) => match.text)).toEqual(["line 1", "line 10", "line 11"]);
    const second = await search({ pattern: "1", regex, limit: 3, from: first.next, context: 1 });
    expect(second.matches[0]).toMatchObject({ text: "line 12", before: ["line 11"] });
  });

  test("finds a line in the middle of many megabytes, over every border of reading", async () => {
    const { search } = streamOf(`${lines(100_000)}needle here\n${lines(100_000)}`);
    const { matches, next, totalBytes } = await search({ pattern: "needle", regex, context: 1 });
    expect(matches).toMatchObject([{ text: "needle here", before: ["line 99999"], after: ["line 0"] }]);
    expect(next).toBe(totalBytes);
  });

  test("shows 8 KiB of a long line, cut on code points around the match", async () => {
    const { search } = streamOf(`${"é".repeat(10_000)}needle${"é".repeat(10_000)}\n`);
    const [match] = (await search({ pattern: "needle", regex })).matches;
    expect(match?.text).toMatch(/^é+needleé+$/);
    expect(Buffer.byteLength(match?.text ?? "")).toBe((match?.to ?? 0) - (match?.from ?? 0));
    expect(Buffer.byteLength(match?.text ?? "")).toBeGreaterThan(8000);
  });

  test("finds what lies across the pieces of a line of 3 MiB, and that line once", async () => {
    const line = Buffer.alloc(3 * 1024 * 1024, "x");
    for (let at = 100_000; at < line.length; at += 20_000) line.write("needle", at);
    line.write("border", 1024 * 1024 - 3);
    const { search } = streamOf(Buffer.concat([line, Buffer.from("\nneedle\n")]));
    expect((await search({ pattern: "border", regex })).matches).toHaveLength(1);
    const found = await search({ pattern: "needle", regex, limit: 1 });
    expect(found.next).toBe(line.length + 1);
    expect((await search({ pattern: "needle", regex })).matches).toHaveLength(2);
  });

  test("skips what is no longer kept and joins no lines over it", async () => {
    const stream = streamOf("head needle\ncut nee.....XXXXXdle\ntail needle\n");
    stream.gap(19, 29);
    const { matches } = await stream.search({ pattern: "needle", regex, context: 3 });
    expect(matches.map((match) => match.text)).toEqual(["head needle", "tail needle"]);
    expect(matches[0]?.after).toEqual(["cut nee"]);
    expect(matches[1]?.before).toEqual(["dle"]);
  });

  test("takes the two sides of what is no longer kept for two lines", async () => {
    const stream = streamOf("first needleXXXXXneedle second\n");
    stream.gap(12, 17);
    const { matches } = await stream.search({ pattern: "needle", regex });
    expect(matches.map((match) => match.text)).toEqual(["first needle", "needle second"]);
  });

  test("ends early when its answer is large, and goes on from there", async () => {
    const stream = streamOf(`${"needle ".repeat(1000)}\n`.repeat(1000));
    const first = await stream.search({ pattern: "needle", regex, limit: 1000 });
    expect(first.matches.length).toBeLessThan(1000);
    const second = await stream.search({ pattern: "needle", regex, limit: 1000, from: first.next });
    expect(second.matches[0]?.from).toBe(first.next);
  });

  test("says that output is gone", async () => {
    const stream = streamOf("a");
    stream.remove();
    expect(await stream.answer({ pattern: "a", regex })).toMatchObject({ error: { code: "not_found" } });
  });
});

describe("an expression", () => {
  test("is RE2 syntax, and means one line", async () => {
    const { search } = streamOf("Error: a\nok\nerror 42\n");
    expect(
      (await search({ pattern: "(?i)^error\\W+\\w+$", regex: true })).matches.map((match) => match.text),
    ).toEqual(["Error: a", "error 42"]);
  });

  test.each(["(", "a{2000}", "\\1", "(?<=a)b"])("that is wrong is said to be: %s", async (pattern) => {
    const answer = await streamOf("x").answer({ pattern, regex: true });
    expect(answer).toMatchObject({
      error: { code: "invalid_request", message: expect.stringMatching(/^error parsing regexp: ./) },
    });
  });

  test("that takes too long is given up, while timers run, and the next one works", async () => {
    const thread = new SearchThread({ workMs: 1500 });
    const stream = streamOf(letters, thread);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    expect(await stream.answer(slow)).toMatchObject({ error: { code: "pattern_too_slow" } });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(20);
    expect((await stream.search({ pattern: "^[a-m]", regex: true })).matches).toHaveLength(1);
  });

  test("that needs too much memory ends its thread and nothing else", async () => {
    const stream = streamOf("x\n", new SearchThread({ heapMb: 12 }));
    expect(await stream.answer({ pattern: "(\\pL\\pN\\pS\\pZ){250}".repeat(40), regex: true })).toMatchObject(
      { error: { code: "pattern_too_slow", message: expect.stringContaining("memory") } },
    );
    expect(await stream.answer({ pattern: "x", regex: true })).toMatchObject({ value: { next: 2 } });
  });

  test("is abandoned with its asker, who does not wait", async () => {
    const stream = streamOf(letters);
    const first = new AbortController();
    const second = new AbortController();
    const answers = [stream.answer(slow, first.signal), stream.answer(slow, second.signal)];
    second.abort();
    expect(await answers[1]).toMatchObject({ error: { code: "unavailable" } });
    first.abort();
    expect(await answers[0]).toMatchObject({ error: { code: "unavailable" } });
    expect((await stream.search({ pattern: "[a-m]", regex: true })).matches).toHaveLength(1);
  });

  test("has a thread only while there is work, and a while after", async () => {
    const stream = streamOf("x\n", new SearchThread({ restMs: 50 }));
    expect(stream.thread.awake).toBe(false);
    await stream.search({ pattern: "x", regex: true });
    expect(stream.thread.awake).toBe(true);
    await expect.poll(() => stream.thread.awake).toBe(false);
  });
});

test("a plain pattern with a line break is refused", async () => {
  expect(await streamOf("a\nb\n").answer({ pattern: "a\nb" })).toMatchObject({
    error: { code: "invalid_request" },
  });
});
