import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lengthOfLastLines } from "../../cli/logs/extent.ts";
import { runCli } from "./run-cli.ts";
import { end, events, exit, json, output, problem, ScriptedServer, sse } from "./scripted-server.ts";

describe("the last lines", () => {
  const last = (text: string, lines: number): string => {
    const bytes = Buffer.from(text);
    return bytes.subarray(bytes.length - lengthOfLastLines(bytes, lines)).toString();
  };
  it.each([
    ["a\nb\nc\n", 2, "b\nc\n"],
    ["a\nb\nc", 2, "b\nc"],
    ["a\n", 5, "a\n"],
    ["", 3, ""],
    ["a\nb\n", 0, ""],
    ["\n\n\n", 2, "\n\n"],
  ])("of %j, %i of them, are %j", (text, lines, expected) => expect(last(text, lines)).toBe(expected));
});

describe("drover logs", () => {
  let server: ScriptedServer;
  beforeEach(async () => {
    server = new ScriptedServer();
    await server.start();
  });
  afterEach(() => server.close());

  const cli = (...words: string[]) =>
    runCli(["logs", "proc_1", ...words], { env: server.env, stdin: "ignore" });
  const live = (text: string): void => {
    server.routes = {
      "GET /v1/processes/proc_1/output": (response, { query }) =>
        query.get("format") === "raw"
          ? void response.end(Buffer.from(text).subarray(Number(query.get("from"))))
          : json({ totalBytes: Buffer.byteLength(text) })(response, {} as never),
      // A live process: the stream stays open.
      "GET /v1/processes/proc_1/events": (response, { query }) => {
        const from = Number(query.get("from") ?? 0);
        response
          .writeHead(200)
          .write(sse(output("merged", Buffer.from(text).subarray(from).toString(), from)));
      },
    };
  };

  it("shows what a live process has written so far, and returns", async () => {
    live("one\ntwo\n");
    expect(await cli()).toMatchObject({ code: 0, stdout: "one\ntwo\n" });
  });

  it("returns at once from one that wrote nothing", async () => {
    live("");
    expect(await cli()).toMatchObject({ code: 0, stdout: "" });
  });

  it("begins with the last lines, and follows from there", async () => {
    live("one\ntwo\nthree\n");
    expect((await cli("--tail", "2")).stdout).toBe("two\nthree\n");
    server.routes["GET /v1/processes/proc_1/events"] = events(
      output("merged", "three\n", 8),
      output("merged", "four\n", 14),
      exit({ exitCode: 0 }),
      end,
    );
    expect((await cli("--tail", "1", "-f")).stdout).toBe("three\nfour\n");
    expect((await server.got("GET /v1/processes/proc_1/events", 2)).query.get("from")).toBe("8");
  });

  it("keeps stdout and stderr apart, and shows one of them when asked", async () => {
    server.routes = {
      "GET /v1/processes/proc_1/output": (response, { query }) =>
        query.get("stream") === "merged"
          ? problem(400, "invalid_request", "kept apart")(response, {} as never)
          : json({ totalBytes: 2 })(response, {} as never),
      "GET /v1/processes/proc_1/events": events(
        output("stdout", "o\n"),
        output("stderr", "e\n"),
        exit({ exitCode: 0 }),
        end,
      ),
    };
    expect(await cli()).toMatchObject({ code: 0, stdout: "o\n", stderr: "e\n" });
    expect(await cli("--stream", "stderr")).toMatchObject({ code: 0, stdout: "e\n", stderr: "" });
  });

  it("shows what is no text as such, also across pieces, unless its bytes are asked for", async () => {
    const bytes = Buffer.from([0xc3, 0xbc, 0x00, 0xff, 0x0a]);
    const piece = (from: number, to: number) => ({
      event: "output",
      stream: "merged",
      from,
      to,
      b64: bytes.subarray(from, to).toString("base64"),
    });
    live("12345");
    server.routes["GET /v1/processes/proc_1/events"] = events(
      piece(0, 1),
      piece(1, 5),
      exit({ exitCode: 0 }),
      end,
    );
    expect((await cli()).stdout).toBe("ü��\n");
    expect(Buffer.from((await cli("--raw")).stdout)).toEqual(Buffer.from(bytes.toString("utf8")));
  });

  it("says how much is not kept", async () => {
    live("0123456789");
    server.routes["GET /v1/processes/proc_1/events"] = events(
      output("merged", "01"),
      { event: "gap", stream: "merged", from: 2, to: 8 },
      output("merged", "89", 8),
      end,
    );
    expect(await cli()).toMatchObject({ stdout: "0189", stderr: "drover: 6 bytes are not kept\n" });
  });
});
