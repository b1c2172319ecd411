import { describe, expect, it } from "vitest";
import { useService } from "./service.ts";

describe("the output of a process", () => {
  const { service, node, started } = useService();
  const ended = async (text: string | Uint8Array, body: object = {}): Promise<string> => {
    const id = await started(body);
    node.played.write(id, text);
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    return id;
  };
  const output = (id: string, query = "") => service.get(`/v1/processes/${id}/output${query}`);

  it("is read as head and tail, counted to the byte, without a marker between", async () => {
    const id = await ended(`${"a".repeat(30)}${"-".repeat(40_000)}${"z".repeat(30)}`);
    const { status, body } = await output(id, "?headBytes=30&tailBytes=30");
    expect(status).toBe(200);
    expect(body).toEqual({
      text: `${"a".repeat(30)}${"z".repeat(30)}`,
      ...{ from: 0, to: 40_060, next: 40_060, totalBytes: 40_060, status: "exited", exitCode: 0 },
      truncated: {
        originalBytes: 40_060,
        retainedBytes: 60,
        omittedBytes: 40_000,
        cutLines: 0,
        strategy: "head_tail",
      },
      parts: [
        { from: 0, to: 30, text: "a".repeat(30) },
        { from: 40_030, to: 40_060, text: "z".repeat(30) },
      ],
    });
  });

  it("that fits is shown whole and joined where head and tail touch", async () => {
    const id = await ended("one line");
    expect((await output(id, "?headBytes=4&tailBytes=4")).body).toMatchObject({
      text: "one line",
      truncated: null,
    });
    expect((await output(id)).body).not.toHaveProperty("parts");
  });

  it("is cut on code points: no half ones, and what is cut is counted as omitted", async () => {
    const id = await ended("é".repeat(20));
    const { body } = await output(id, "?headBytes=3&tailBytes=3");
    expect(body).toMatchObject({
      text: "éé",
      truncated: { originalBytes: 40, retainedBytes: 4, omittedBytes: 36 },
    });
  });

  it("shows invalid bytes and NUL as U+FFFD, and as they are with format=raw", async () => {
    const bytes = Uint8Array.of(0x61, 0x00, 0xff, 0x62);
    const id = await ended(bytes);
    expect((await output(id)).body["text"]).toBe("a\ufffd\ufffdb");
    const raw = await service.fetch(`/v1/processes/${id}/output?format=raw`);
    expect(new Uint8Array(await raw.arrayBuffer())).toEqual(bytes);
  });

  it("is read by its last lines: 40 unless said, at most 200", async () => {
    const id = await ended(Array.from({ length: 300 }, (_, at) => `line ${at + 1}\n`).join(""));
    const linesOf = async (query: string) =>
      String((await output(id, `?view=tail${query}`)).body["text"])
        .trimEnd()
        .split("\n");
    expect(await linesOf("&lines=2")).toEqual(["line 299", "line 300"]);
    for (const query of ["", "&lines=0", "&lines=-3", "&lines=1.5", "&lines=x"])
      expect(await linesOf(query)).toHaveLength(40);
    expect(await linesOf("&lines=500")).toHaveLength(200);
    expect((await output(id, "?view=tail&tailBytes=4")).body["text"]).toBe("300\n");
  });

  it("is read by range, and `next` is where to go on without loss or repeat", async () => {
    const text = "aé€😀".repeat(50);
    const id = await ended(text);
    let read = "";
    for (let from = 0; from < Buffer.byteLength(text);) {
      const { body } = await output(id, `?from=${from}&to=${from + 7}`);
      expect(body["next"]).toBeGreaterThan(from);
      read += String(body["text"]);
      from = Number(body["next"]);
    }
    expect(read).toBe(text);
  });

  it("beyond its end is 416, at its end empty", async () => {
    const id = await ended("12345");
    expect(await output(id, "?view=range&from=6")).toMatchObject({
      status: 416,
      body: { code: "range_not_satisfiable", totalBytes: 5 },
    });
    expect(await output(id, "?view=range&from=5")).toMatchObject({
      status: 200,
      body: { text: "", from: 5, to: 5, next: 5, truncated: null },
    });
  });

  it("beyond what is stored is 416 of an ended process whose node is away, and 503 of a running one", async () => {
    const done = await ended("x".repeat(100_000));
    const running = await started();
    node.played.cut();
    expect(await output(done, "?from=100001")).toMatchObject({ status: 416 });
    expect(await output(running, "?from=5")).toMatchObject({ status: 503, body: { code: "node_offline" } });
  });

  it("of a running process ends before a code point that is only half written", async () => {
    const id = await started();
    node.played.write(id, Uint8Array.of(0x61, 0xc3));
    expect((await output(id, "?from=0")).body).toMatchObject({
      text: "a",
      next: 1,
      totalBytes: 2,
      status: "running",
      truncated: null,
    });
    expect((await output(id)).body).toMatchObject({ text: "a", truncated: null });
    node.played.write(id, Uint8Array.of(0xa9));
    expect((await output(id, "?from=1")).body).toMatchObject({ text: "é", next: 3 });
  });

  it("of a split process is stdout unless said, and a merged view of it is 400", async () => {
    const id = await started({ output: "split" });
    node.played.write(id, "out", "stdout");
    node.played.write(id, "err", "stderr");
    expect((await output(id)).body["text"]).toBe("out");
    expect((await output(id, "?stream=stderr")).body["text"]).toBe("err");
    expect(await output(id, "?stream=merged")).toMatchObject({
      status: 400,
      body: { issues: [{ path: "stream" }] },
    });
    const merged = await started();
    expect(await output(merged, "?stream=stdout")).toMatchObject({
      status: 400,
      body: { issues: [{ path: "stream" }] },
    });
  });

  it("is read while the node is away as far as it is stored, with true totals; the middle is 503", async () => {
    const id = await ended(`${"a".repeat(20_000)}${"b".repeat(30_000)}${"c".repeat(20_000)}`);
    node.played.cut();
    const { body } = await output(id, "?headBytes=20000&tailBytes=20000");
    expect(body).toMatchObject({
      totalBytes: 70_000,
      truncated: { originalBytes: 70_000, retainedBytes: 32_768, omittedBytes: 37_232 },
    });
    expect((await output(id, "?view=tail&lines=1")).body["text"]).toBe("c".repeat(8000));
    expect((await output(id, "?from=0&to=100")).body["text"]).toBe("a".repeat(100));
    expect(await output(id, "?from=20000&to=20100")).toMatchObject({
      status: 503,
      body: { code: "node_offline" },
    });
    expect((await service.fetch(`/v1/processes/${id}/output?format=raw`)).status).toBe(503);
    expect(await output(id, "?grep=a")).toMatchObject({ status: 503 });
  });

  it("that is stored whole needs no node, grep included", async () => {
    const id = await ended("one\ntwo\nthree\ntwo\n");
    node.played.cut();
    expect((await output(id)).body["text"]).toBe("one\ntwo\nthree\ntwo\n");
    const found = await output(id, "?grep=t%5Bw%5D&regex=true&context=1&limit=1");
    expect(found.body).toMatchObject({
      matches: [{ from: 4, to: 7, text: "two", before: ["one"], after: ["three"] }],
      next: 14,
      totalBytes: 18,
      status: "exited",
    });
    expect(await output(id, "?grep=%28&regex=true")).toMatchObject({
      status: 400,
      body: { issues: [{ path: "grep" }] },
    });
  });

  it("with a hole says what is no longer kept: gaps in a range, left out of raw bytes", async () => {
    const id = await started();
    node.played.write(id, "a".repeat(20_000) + "b".repeat(20_000) + "c".repeat(20_000));
    node.played.punch(id, { from: 20_000, to: 40_000 });
    node.played.exit(id, { omittedBytes: 20_000 });
    await service.rig.until(id, (row) => row.status === "exited");
    const { body } = await output(id, "?from=19990&to=40010");
    expect(body).toMatchObject({
      text: `${"a".repeat(10)}${"c".repeat(10)}`,
      next: 40_010,
      truncated: { originalBytes: 20_020, retainedBytes: 20, omittedBytes: 20_000 },
    });
    const raw = await service.fetch(`/v1/processes/${id}/output?format=raw`);
    expect(raw.headers.get("drover-omitted-bytes")).toBe("20000");
    expect(await raw.text()).toBe("a".repeat(20_000) + "c".repeat(20_000));
  });

  it("of many steps comes raw to the last byte", async () => {
    const bytes = Buffer.alloc(2_500_000, "0123456789");
    const id = await ended(bytes);
    const raw = await service.fetch(`/v1/processes/${id}/output?format=raw`);
    expect(Buffer.from(await raw.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it("is stripped of escape sequences only when asked, as JSON or as text", async () => {
    const id = await ended("\u001b[31mred\u001b[0m\n");
    expect((await output(id)).body["text"]).toBe("\u001b[31mred\u001b[0m\n");
    const text = await service.fetch(`/v1/processes/${id}/output?format=text&ansi=strip`);
    expect([text.headers.get("content-type"), await text.text()]).toEqual([
      "text/plain; charset=utf-8",
      "red\n",
    ]);
  });

  it("of a process that never started is empty", async () => {
    node.played.onStart = ({ id }) =>
      node.played.report({ id, status: "failed", reason: "spawn_error", pid: null });
    const { body } = await service.post("/v1/processes?waitMs=60000", { node: node.id, command: "x" });
    expect(body).toMatchObject({
      status: "failed",
      reason: "spawn_error",
      exitCode: null,
      result: { text: "", truncated: null },
    });
    expect((await output(String(body["id"]))).body).toMatchObject({
      text: "",
      totalBytes: 0,
      truncated: null,
    });
  });
});
