import { describe, expect, it, vi } from "vitest";
import { HubLines } from "../../../../control-plane/entry/worker/hub-lines.ts";

const text = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> => {
  const { value } = await reader.read();
  return value && new TextDecoder().decode(value);
};

describe("a line of the hub", () => {
  it("tells each topic once, however often it was published before it was taken", async () => {
    const lines = new HubLines();
    const reader = lines.open("a", ["process:1", "events"]).getReader();
    lines.publish(["process:1", "process:2"]);
    lines.publish(["process:1", "events"]);
    expect(await text(reader)).toBe("process:1\nevents\n");
    await reader.cancel();
  });

  it("says an empty line when there is nothing to say for a while", async () => {
    const lines = new HubLines(5);
    const reader = lines.open("a", []).getReader();
    expect(await text(reader)).toBe("\n");
    await reader.cancel();
  });

  it("is forgotten with its topics when its reader leaves or it is hung up", async () => {
    const lines = new HubLines();
    const reader = lines.open("a", ["events"]).getReader();
    const hungUp = lines.open("b", ["events"]).getReader();
    expect(lines.ids).toHaveLength(2);
    await reader.cancel();
    lines.close("b");
    expect((await hungUp.read()).done).toBe(true);
    expect(lines.ids).toHaveLength(0);
    expect(lines.watch("a", ["process:1"])).toBe(false);
  });

  it("hears of topics that were added, and no longer of those that were taken away", async () => {
    const lines = new HubLines();
    const reader = lines.open("a", ["process:1"]).getReader();
    expect(lines.watch("a", ["process:2"])).toBe(true);
    lines.unwatch("a", ["process:1"]);
    lines.publish(["process:1", "process:2"]);
    await vi.waitFor(async () => expect(await text(reader)).toBe("process:2\n"));
    await reader.cancel();
  });
});
