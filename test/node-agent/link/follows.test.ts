import { describe, expect, it, vi } from "vitest";
import { windowBytes } from "#shared/link/limits.ts";
import { launchOf } from "../../support/engine.ts";
import type { AgentEnd } from "./fake-control-plane.ts";
import { linkedForEachTest } from "./linked.ts";

const linked = linkedForEachTest();

describe("a followed stream", () => {
  const follow = { type: "follow", follow: "f1", id: "proc_1", stream: "merged", from: 10 } as const;
  const chunk = (from: number, size: number) => ({ from, to: from + size, bytes: Buffer.alloc(size, 97) });
  const begun = async (): Promise<{
    end: AgentEnd;
    follower: NonNullable<ReturnType<typeof linked.engine.followers.get>>;
  }> => {
    linked.engine.followable.add("proc_1");
    linked.open();
    const end = await linked.plane.welcomed();
    end.send(follow);
    const follower = await vi.waitFor(
      () => linked.engine.followers.get("proc_1") ?? expect.fail("not followed"),
    );
    return { end, follower };
  };

  it("carries bytes and gaps with their offsets", async () => {
    const { end, follower } = await begun();
    expect(follower.from).toBe(10);
    follower.send(chunk(10, 3));
    follower.send({ from: 13, to: 20, bytes: null });
    expect(await end.next("output")).toEqual({
      type: "output",
      follow: "f1",
      from: 10,
      to: 13,
      b64: Buffer.from("aaa").toString("base64"),
    });
    expect(await end.next("output")).toEqual({ type: "output", follow: "f1", from: 13, to: 20, gap: true });
  });

  it("pauses when its window is full and goes on with credit", async () => {
    const { end, follower } = await begun();
    expect(follower.send(chunk(10, windowBytes - 1))).toBe(true);
    expect(follower.send(chunk(9 + windowBytes, 1))).toBe(false);
    end.send({ type: "credit", follow: "f1", to: 11 });
    await vi.waitFor(() => expect(follower.resumed).toBe(1));
    expect(follower.send(chunk(10 + windowBytes, 1))).toBe(false);
  });

  it("sends no byte twice when a chunk is handed over again", async () => {
    const { end, follower } = await begun();
    follower.send(chunk(10, 5));
    follower.send(chunk(10, 5));
    follower.send(chunk(12, 5));
    await end.next("output");
    expect(await end.next("output")).toMatchObject({
      from: 15,
      to: 17,
      b64: Buffer.from("aa").toString("base64"),
    });
  });

  it("of a process that is not there yet begins when it is", async () => {
    linked.open();
    const end = await linked.plane.welcomed();
    end.send(follow, { type: "start", launch: launchOf("true", { id: "proc_1" }) });
    await end.next("accepted");
    expect(linked.engine.followers.get("proc_1")?.from).toBe(10);
  });

  it("is let go when it is unfollowed, and when its socket ends", async () => {
    const { end, follower } = await begun();
    end.send({ type: "unfollow", follow: "f1" }, follow);
    await vi.waitFor(() => expect(follower.closed).toBe(true));
    const second = await vi.waitFor(() => {
      const now = linked.engine.followers.get("proc_1");
      return now && now !== follower ? now : expect.fail("not followed again");
    });
    end.socket.terminate();
    await vi.waitFor(() => expect(second.closed).toBe(true));
  });
});
