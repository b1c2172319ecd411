import { describe, expect, it } from "vitest";
import { downFrame, upFrame } from "#shared/link/frames.ts";
import { report, type Report } from "#shared/link/report.ts";

const good: Report = {
  ...{
    id: "proc_1",
    revision: 1,
    status: "running",
    reason: null,
    detail: null,
    exitCode: null,
    signal: null,
  },
  ...{ pid: 7, cwd: "/", startedAgeMs: 1.5, exitedAgeMs: null, durationMs: null },
  ...{ totalBytes: 0, omittedBytes: 0, lines: null, survivors: [], snapshots: [] },
};

describe("a frame of the link", () => {
  it("is taken where all of it can be stored", () => {
    expect(report.safeParse(good).success).toBe(true);
  });

  // Such a value would be refused by the database each time it is said again, or break what decodes it.
  it.each<[string, object]>([
    ["a pid beyond 32 bits", { pid: 2 ** 40 }],
    ["an exit code beyond 32 bits", { exitCode: 2 ** 31 }],
    ["half a revision", { revision: 1.5 }],
    ["a revision below 0", { revision: -1 }],
    ["a size beyond what counts exactly", { totalBytes: 2 ** 60 }],
    ["half a millisecond of duration", { durationMs: 0.5 }],
    ["an id that leads out of a folder", { id: "../proc_1" }],
    ["an id with NUL", { id: "proc_\0" }],
    [
      "base64 that cannot be decoded",
      { snapshots: [{ stream: "merged", head: "A", tail: "", totalBytes: 1 }] },
    ],
  ])("is none with %s in a report", (_title, change) => {
    const frame = { type: "reports", reports: [{ ...good, ...change }] };
    expect(upFrame.safeParse(frame).success).toBe(false);
  });

  it.each<[string, object]>([
    ["an id that leads out of a folder", { type: "forget", ids: ["../.."] }],
    [
      "a place before the first byte",
      { type: "follow", follow: "f1", id: "proc_1", stream: "merged", from: -1 },
    ],
    ["half a byte", { type: "read", rid: "r1", id: "proc_1", stream: "merged", head: 0.5 }],
    ["base64 that cannot be decoded", { type: "stdin", rid: "r1", id: "proc_1", b64: "YQ", eof: true }],
  ])("is none with %s in what an agent is told", (_title, frame) => {
    expect(downFrame.safeParse(frame).success).toBe(false);
  });
});
