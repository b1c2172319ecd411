import { describe, expect, it } from "vitest";
import { createLog } from "../../../control-plane/entry/log.ts";

describe("the log", () => {
  const lines: string[] = [];
  const log = createLog("json", (line) => void lines.push(line));

  it("is one JSON object a line, errors with their causes", () => {
    log.error("a.failed", { nodeId: "n", error: new Error("outer", { cause: new Error("inner") }) });
    const line = JSON.parse(lines.pop() ?? "") as Record<string, unknown>;
    expect(line).toMatchObject({
      level: "error",
      event: "a.failed",
      nodeId: "n",
      error: expect.stringMatching(/outer[\s\S]*caused by[\s\S]*inner/),
    });
  });

  it("shows neither what it was told to hide nor anything that looks like a token", () => {
    log.hide("hunter2");
    log.info("a.b", { one: "x hunter2 y", two: "drvj_0123456789abcdefghij", three: "Bearer abc.def" });
    expect(lines.pop()).toMatch(/x \*\*\* y.*drvj_\*\*\*.*Bearer \*\*\*/);
  });

  it("is short lines for people when asked", () => {
    const shown: string[] = [];
    createLog("pretty", (line) => void shown.push(line)).warn("a.b", {
      count: 2,
      text: "two words",
      none: null,
    });
    expect(shown[0]).toMatch(/^\d\d:\d\d:\d\d warn a\.b count=2 text="two words"\n$/);
  });
});
