import { describe, expect, it } from "vitest";
import { exitCodeOf, exitCodeOfFailure, type Ending } from "../../cli/exit-code.ts";
import type { FailureCode } from "../../sdk/failure.ts";

const ending = (status: Ending["status"], fields: Partial<Ending> = {}): Ending => ({
  status,
  exitCode: null,
  signal: null,
  ...fields,
});

describe("the exit code of a process", () => {
  it.each([
    [0, "its own", ending("exited", { exitCode: 0 })],
    [255, "its own", ending("exited", { exitCode: 255 })],
    [126, "what its shell says of a file it cannot run", ending("exited", { exitCode: 126 })],
    [137, "its own, though it looks like a signal", ending("exited", { exitCode: 137 })],
    [139, "128+n of the signal that ended it", ending("exited", { signal: "SEGV" })],
    [143, "128+n when it was stopped", ending("killed", { signal: "TERM" })],
    [130, "128+n when it was interrupted", ending("killed", { signal: "INT" })],
    [7, "its own when it was stopped and left in order", ending("killed", { exitCode: 7 })],
    [143, "that of TERM when it was stopped and nothing else is known", ending("killed")],
    [124, "124 when its time ran out", ending("timed_out", { signal: "KILL" })],
    [125, "Drover's when it never ran", ending("failed")],
    [125, "Drover's when it was taken back", ending("canceled")],
    [125, "Drover's when it was not delivered", ending("expired")],
    [255, "255 when its fate is unknown", ending("lost")],
  ])("is %i, %s", (code, _why, how) => {
    expect(exitCodeOf(how)).toBe(code);
  });
});

describe("the exit code of a request that failed", () => {
  const failed = (code: FailureCode) =>
    exitCodeOfFailure({ code, message: "", status: null, requestId: null, issues: [], retryAfterMs: null });

  it.each([
    [255, "node_offline"],
    [2, "invalid_request"],
    [125, "command_refused"],
    [125, "unauthorized"],
    [125, "unreachable"],
    [125, "internal"],
  ] as const)("is %i for %s", (code, failure) => {
    expect(failed(failure)).toBe(code);
  });
});
