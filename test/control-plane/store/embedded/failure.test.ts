import { describe, expect, it } from "vitest";
import { failureFromLog, failureFromSystem } from "../../../../control-plane/store/embedded/failure.ts";

describe("a failure of the embedded database", () => {
  it("is told by its log: a full disk, another major version, anything else", () => {
    expect(failureFromLog("FATAL: could not write: No space left on device").code).toBe("disk_full");
    expect(failureFromLog("FATAL: database files are incompatible with server").code).toBe(
      "cluster_unusable",
    );
    expect(failureFromLog("FATAL: something new")).toMatchObject({
      code: "start_failed",
      message: expect.stringContaining("something new"),
    });
  });

  it("is told by the system's error code, with the folder and the cause", () => {
    const full = Object.assign(new Error("write"), { code: "ENOSPC" });
    expect(failureFromSystem(full, "/data")).toMatchObject({ code: "disk_full", cause: full });
    expect(failureFromSystem(Object.assign(new Error("x"), { code: "EACCES" }), "/data").message).toContain(
      "/data",
    );
    expect(failureFromSystem(full.message, "/data").message).toBe("write");
  });
});
