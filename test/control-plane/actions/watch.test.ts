import { afterEach, describe, expect, it } from "vitest";
import { Watch } from "../../../control-plane/actions/watch.ts";
import { createMemoryBus } from "../../../control-plane/bus/memory.ts";

describe("a watch", () => {
  const bus = createMemoryBus((fault) => {
    throw fault;
  });
  const watch = (): Watch => new Watch(bus, ["process:a", "node:b"]);
  const signal = new AbortController().signal;
  let open: Watch | undefined;
  afterEach(() => open?.close());

  it("wakes at a notice of any of its topics", async () => {
    open = watch();
    const next = open.next(60_000, signal);
    bus.publish("node:b");
    expect(await next).toBe("changed");
  });

  it("remembers a notice that came while nobody waited, once however many came", async () => {
    open = watch();
    bus.publish("process:a");
    bus.publish("process:a");
    await Promise.resolve();
    expect(await open.next(60_000, signal)).toBe("changed");
    expect(await open.next(1, signal)).toBe("time_out");
  });

  it("ends its wait when the signal aborts, before or during it", async () => {
    open = watch();
    expect(await open.next(60_000, AbortSignal.abort())).toBe("aborted");
    const leaving = new AbortController();
    const next = open.next(60_000, leaving.signal);
    leaving.abort();
    expect(await next).toBe("aborted");
  });
});
