import { describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import { managing } from "../../cli/fanout/manage.ts";
import { NodeLines } from "../../cli/fanout/node-lines.ts";
import { summaryOf } from "../../cli/fanout/summary.ts";
import { runCli } from "./run-cli.ts";

describe("the lines of many nodes", () => {
  const taken = (lines: NodeLines, node: string, text: string) =>
    lines.take(node, "merged", Buffer.from(text)).toString();

  it("come whole, each behind its node, whatever pieces they arrive in", () => {
    const lines = new NodeLines(3);
    expect(taken(lines, "a", "one\ntw")).toBe("a   | one\n");
    expect(taken(lines, "abc", "x")).toBe("");
    expect(taken(lines, "a", "o\n\nend")).toBe("a   | two\na   | \n");
    expect(lines.rest("a", "merged").toString()).toBe("a   | end\n");
    expect(lines.rest("abc", "merged").toString()).toBe("abc | x\n");
    expect(lines.rest("a", "merged").toString()).toBe("");
  });

  it("keep every byte, also of a line that does not end", () => {
    const lines = new NodeLines(1);
    const bytes = Buffer.concat([Buffer.alloc(70_000, 0xff), Buffer.from("\n")]);
    const shown = Buffer.concat([
      lines.take("a", "merged", bytes.subarray(0, 69_000)),
      lines.take("a", "merged", bytes.subarray(69_000)),
    ]);
    const text = shown.toString("latin1").replaceAll("a | ", "").replaceAll("\n", "");
    expect(Buffer.from(text, "latin1")).toEqual(bytes.subarray(0, 70_000));
  });
});

describe("what became of a fan-out", () => {
  const group = { exitCode: 0, status: "succeeded", sha256: "", truncated: null } as const;
  const view = {
    ...{ id: "fan_1", status: "failed", reason: "node_failures", groupCount: 2 },
    counts: {
      waiting: 0,
      running: 0,
      succeeded: 12,
      failed: 0,
      timed_out: 1,
      skipped: 2,
      canceled: 0,
      lost: 0,
    },
    groups: [
      { ...group, count: 12, nodes: Array.from({ length: 12 }, (_, at) => `n${at}`), text: "a\n".repeat(12) },
      { ...group, count: 1, nodes: ["slow"], status: "timed_out", exitCode: null, text: "" },
    ],
  } as unknown as FanoutView;
  const skipped = [
    { node: "x", status: "skipped", reason: "node_offline" },
    { node: "y", status: "skipped", reason: "node_offline" },
  ] as FanoutNodeView[];

  it("is its counts, each output once with the nodes that wrote it, and who did not run it", () => {
    expect(summaryOf(view, skipped).split("\n")).toEqual([
      "fan_1 failed (node_failures): 12 succeeded, 1 timed out, 2 skipped",
      "== 12 nodes (n0, n1, n2, n3, n4, n5, n6, n7 and 4 more): exited 0",
      ...Array.from({ length: 10 }, () => "   a"),
      "   … 2 more lines",
      "== 1 node (slow): timed out",
      "-- 2 nodes (x, y): skipped, node offline",
    ]);
  });
});

describe("the words of drover fanout", () => {
  it.each([
    [["ls"], true],
    [["show", "fan_1"], true],
    [["retry", "fan_1"], true],
    [["ls", "df"], false],
    [["show", "df"], false],
    [["web-*", "uptime"], false],
    [["reboot", "fan_1"], false],
  ])("%j are about fan-outs that are there: %s", (words, is) =>
    expect(managing(words) !== undefined).toBe(is),
  );
});

it.each([
  ["fanout", "env=prod", "--lease", "lease_1", "--", "true"],
  ["fanout", "retry", "fan_1", "--lease", "lease_1"],
  ["exec", "-l", "env=prod", "--lease", "lease_1", "--", "true"],
])("a lease is of one node, so many take none: drover %s %s %s", async (...words) => {
  const env = { DROVER_URL: "http://127.0.0.1:1", DROVER_TOKEN: "t" };
  const { code, stderr } = await runCli(words, { env, stdin: "ignore" });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("a lease belongs to one node, not to many: use exec -n NODE --lease ID"),
  });
});
