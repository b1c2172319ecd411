import { describe, expect, it, vi } from "vitest";
import { linkedForEachTest } from "./linked.ts";

const linked = linkedForEachTest();

describe("a wish for a new key", () => {
  it("is answered by who the agent is, not by the engine", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    const keyHash = "a".repeat(64);
    end.send({ type: "rotate-key", rid: "r1", keyHash });
    expect(await end.next("reply")).toEqual({ type: "reply", rid: "r1", value: { keyHash } });
    expect(linked.engine.calls).toEqual([]);
  });
});

describe("requests", () => {
  it("reach the engine with their fields and get one reply each", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    linked.engine.answer = (name) =>
      Promise.resolve(
        name === "signal" ? { error: { code: "process_not_running", message: "gone" } } : { value: { name } },
      );
    end.send({ type: "stdin", rid: "r1", id: "proc_1", b64: Buffer.from("é").toString("base64"), eof: true });
    end.send({ type: "signal", rid: "r2", id: "proc_1", signal: "USR1", scope: "leader" });
    expect(await end.next("reply")).toEqual({ type: "reply", rid: "r1", value: { name: "stdin" } });
    expect(await end.next("reply")).toEqual({
      type: "reply",
      rid: "r2",
      error: { code: "process_not_running", message: "gone" },
    });
    expect(linked.engine.calls).toEqual([
      { name: "stdin", args: ["proc_1", "é", true] },
      { name: "signal", args: ["proc_1", "USR1", "leader"] },
    ]);
  });

  it("that are abandoned, or whose socket ends, are given up and get none", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    const aborted: string[] = [];
    linked.engine.answer = (name, signal) =>
      signal === undefined
        ? Promise.resolve({ value: {} })
        : new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              aborted.push(name);
              reject(new Error("aborted"));
            }),
          );
    end.send(
      { type: "wait", rid: "r1", id: "proc_1", waitMs: 1000, stream: "merged" },
      { type: "abandon", rid: "r1" },
    );
    end.send(
      {
        type: "grep",
        rid: "r2",
        id: "proc_1",
        stream: "merged",
        pattern: "a",
        regex: false,
        context: 0,
        from: 0,
        limit: 1,
      },
      { type: "ports", rid: "r3", id: "proc_1" },
    );
    expect((await end.next("reply")).rid).toBe("r3");
    expect(aborted).toEqual(["wait"]);
    end.socket.terminate();
    await vi.waitFor(() => expect(aborted).toEqual(["wait", "grep"]));
  });

  it("that make the engine fail are answered as unavailable", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    linked.engine.answer = () => Promise.reject(new Error("disk on fire"));
    end.send({ type: "ports", rid: "r1", id: "proc_1" });
    expect((await end.next("reply")).error).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("disk on fire") as string,
    });
  });
});
