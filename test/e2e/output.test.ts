import { describe, expect, it } from "vitest";
import { bytesOf, hear } from "../support/event-stream.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1"] });
type Matches = { matches: { text: string; before: string[]; after: string[] }[] };
const exec = (command: string, more: Record<string, unknown> = {}) =>
  product.api.exec({ node: "n1", command, ...more });

describe("output", () => {
  it("keeps every byte, whatever it is", async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const octal = [...all].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
    const { id, output } = await exec(`printf '${octal}'`);
    expect(output.totalBytes).toBe(256);
    expect(await product.api.raw(id)).toEqual(all);
    const { text } = await product.api.output(id);
    expect(text).toBe(new TextDecoder().decode(all).replaceAll("\0", "\ufffd"));
    expect(bytesOf(await hear(product.api, id))).toEqual(all);
  });

  it("of half a code point at its end shows one replacement and keeps the bytes", async () => {
    const { id, result } = await exec("printf 'ok \\342\\202'");
    expect(result.text).toMatch(/^ok \ufffd+$/);
    expect([...(await product.api.raw(id))]).toEqual([...Buffer.from("ok "), 0xe2, 0x82]);
  });

  it("is cut on code points, with exact counts, in head, tail and ranges", async () => {
    const { id, result } = await exec("i=0; while [ $i -lt 20000 ]; do printf '€'; i=$((i+1)); done");
    const { truncated } = result;
    expect(result.text).toMatch(/^€+$/);
    expect(truncated).toMatchObject({ originalBytes: 60_000, retainedBytes: Buffer.byteLength(result.text) });
    expect((truncated?.retainedBytes ?? 0) + (truncated?.omittedBytes ?? 0)).toBe(60_000);
    const range = await product.api.output(id, { view: "range", from: 1, to: 11 });
    expect(range.text).toMatch(/^\ufffd*€+\ufffd*$/);
    let joined = "";
    for (let from = 0, total = 1; from < total;) {
      const part = await product.api.output(id, { view: "range", from, to: from + 10_000 });
      expect(part.next).toBeGreaterThan(from);
      joined += part.text;
      [from, total] = [part.next, part.totalBytes];
    }
    expect(joined).toBe("€".repeat(20_000));
  });

  it("of one line of 100 MB is counted, bounded and readable at both ends", async () => {
    const { id, output, status } = await exec("head -c 100000000 /dev/zero | tr '\\0' x; printf END", {
      limits: { logBytes: 1_000_000 },
    });
    expect({ status, total: output.totalBytes }).toEqual({ status: "exited", total: 100_000_003 });
    expect((await product.api.output(id, { view: "head", headBytes: 5 })).text).toBe("xxxxx");
    const tail = await product.api.output(id, { view: "tail", lines: 1 });
    expect(tail.text).toMatch(/^x+END$/);
    expect([...tail.text].length).toBeLessThanOrEqual(8000);
    const process = await product.api.process(id);
    expect(process.output.omittedBytes).toBeGreaterThan(90_000_000);
    expect((await product.api.raw(id)).length).toBe(process.output.totalBytes - process.output.omittedBytes);
  });

  it("without end is bounded, followed with its gaps, and stopped", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "yes 0123456",
      limits: { logBytes: 200_000 },
    });
    const heard = await hear(product.api, id, {
      until: ({ event, data }) => event === "output" && Number(data["to"]) > 2_000_000,
    });
    let at = 0;
    for (const { event, data } of heard) {
      if (event !== "output" && event !== "gap") continue;
      expect(data["from"]).toBe(at);
      at = Number(data["to"]);
    }
    const done = await product.api.stop(id);
    expect(done).toMatchObject({ status: "killed", reason: "stopped" });
    const { text } = await product.api.output(id, { view: "head", headBytes: 16 });
    expect(text).toBe("0123456\n0123456\n");
  });

  it("can be read while it runs, after it ended, and after the agent began anew, with the same answers", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "seq 1 30000; read -r line",
      stdin: "pipe",
    });
    await product.api.printed(id, "30000");
    const look = async () => ({
      whole: (await product.api.raw(id)).toString(),
      tail: (await product.api.output(id, { view: "tail", lines: 3 })).text,
      tailBytes: (await product.api.output(id, { view: "tail", tailBytes: 6 })).text,
      lines: [0, -1, 500, 1.5].map(
        async (lines) => (await product.api.output(id, { view: "tail", lines })).text.split("\n").length - 1,
      ),
      range: await product.api
        .output(id, { view: "range", from: 100_000, to: 100_024 })
        .then(({ text, from, to }) => ({ text, from, to })),
      grep: (await product.api.output<Matches>(id, { grep: "12345", context: 1 })).matches,
      regex: (await product.api.output<Matches>(id, { grep: "^2999[89]$", regex: true })).matches.map(
        ({ text }) => text,
      ),
      format: await product.api.get<string>(`GET /v1/processes/${id}/output`, {
        query: { view: "tail", lines: 1, format: "text" },
      }),
    });
    const running = await look();
    expect(running).toMatchObject({
      whole: Array.from({ length: 30_000 }, (_, n) => `${n + 1}\n`).join(""),
      tail: "29998\n29999\n30000\n",
      tailBytes: "30000\n",
      range: { text: running.whole.slice(100_000, 100_024), from: 100_000, to: 100_024 },
      grep: [{ text: "12345", before: ["12344"], after: ["12346"] }],
      regex: ["29998", "29999"],
      format: "30000\n",
    });
    expect(await Promise.all(running.lines)).toEqual([40, 40, 200, 40]);
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { eof: true } });
    await product.api.final(id);
    const { lines: _running, ...expected } = running;
    expect(await look()).toMatchObject(expected);
    await product.agents.get("n1")?.restart();
    await product.status("n1", "online");
    expect(await look()).toMatchObject(expected);
  });

  it("strips colours only when asked", async () => {
    const { id } = await exec("printf '\\033[31mred\\033[0m\\n'");
    expect((await product.api.output(id)).text).toBe("\u001b[31mred\u001b[0m\n");
    expect((await product.api.output(id, { ansi: "strip" })).text).toBe("red\n");
  });

  it("kept apart has no merged view, and each stream its own", async () => {
    const { id } = await exec("echo out; echo err >&2", { output: "split" });
    expect((await product.api.output(id, { stream: "stdout" })).text).toBe("out\n");
    expect((await product.api.output(id, { stream: "stderr" })).text).toBe("err\n");
    expect((await product.api.raw(id, { stream: "stderr" })).toString()).toBe("err\n");
    expect(
      (
        await product.api.api(`GET /v1/processes/${id}/output`, {
          query: { stream: "merged", view: "range" },
        })
      ).status,
    ).toBe(400);
  });
});

describe("following", () => {
  it("begins at any offset, and resumes behind any event without loss or repeat", async () => {
    const { id } = await exec("seq 1 3000; printf 'é€😀\\377\\n'; exit 3");
    const whole = await product.api.raw(id);
    const heard = await hear(product.api, id);
    expect(heard.map(({ event }) => event).filter((event, n, all) => event !== all[n - 1])).toEqual([
      "start",
      "output",
      "exit",
      "end",
    ]);
    expect(heard.at(-2)?.data).toMatchObject({
      status: "exited",
      exitCode: 3,
      signal: null,
      reason: null,
      survivors: [],
    });
    expect(bytesOf(heard)).toEqual(whole);
    for (const from of [0, 1, 5000, whole.length - 1, whole.length])
      expect(bytesOf(await hear(product.api, id, { from }), { from })).toEqual(whole.subarray(from));
    for (const [n, event] of heard.entries()) {
      if (event.event === "end" || event.id === undefined) continue;
      expect((await hear(product.api, id, { lastEventId: event.id })).map(({ id: at }) => at)).toEqual(
        heard.slice(n + 1).map(({ id: at }) => at),
      );
      const viaQuery = await hear(product.api, id, { from: event.id });
      expect(viaQuery.map(({ data }) => data)).toEqual(heard.slice(n + 1).map(({ data }) => data));
    }
    const over = await product.api.fetch(`GET /v1/processes/${id}/events`, {
      headers: { "last-event-id": heard.at(-1)?.id ?? "" },
    });
    expect(over.status).toBe(204);
  });

  it("live gives what comes to several readers, each from where it began", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: 'echo one; while read -r line; do echo "$line"; done',
      stdin: "pipe",
    });
    await product.api.printed(id, "one");
    const readers = [hear(product.api, id), hear(product.api, id, { from: 2 })];
    const first = await hear(product.api, id, { until: ({ event }) => event === "output" });
    await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "two\nthree\n", eof: true } });
    const [all, some] = await Promise.all(readers);
    expect(bytesOf(all ?? []).toString()).toBe("one\ntwo\nthree\n");
    expect(bytesOf(some ?? [], { from: 2 }).toString()).toBe("e\ntwo\nthree\n");
    const rest = await hear(product.api, id, { lastEventId: first.at(-1)?.id ?? "" });
    expect(bytesOf(rest, { from: 4 }).toString()).toBe("two\nthree\n");
  });

  it("goes on to `end` only when the last survivor is gone, with what it writes", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "(while [ ! -e /nowhere ]; do sleep 0.1; done) & echo left; exit 2",
    });
    const heard = await hear(product.api, id, { until: ({ event }) => event === "exit" });
    expect(heard.at(-1)?.data).toMatchObject({
      status: "exited",
      exitCode: 2,
      survivors: expect.arrayContaining([{ pid: expect.any(Number), command: expect.any(String) }]),
    });
    const ended = hear(product.api, id, { lastEventId: heard.at(-1)?.id ?? "" });
    expect(await product.api.stop(id)).toMatchObject({ status: "exited", exitCode: 2, survivors: [] });
    expect((await ended).at(-1)?.event).toBe("end");
  });
});
