import { afterEach, describe, expect, it, vi } from "vitest";
import { createMemoryBus } from "../../../../control-plane/bus/memory.ts";
import { HubBus } from "../../../../control-plane/entry/worker/hub-bus.ts";
import { HubLines } from "../../../../control-plane/entry/worker/hub-lines.ts";
import type { HubPort } from "../../../../control-plane/entry/worker/hub-port.ts";
import type { Log } from "../../../../control-plane/needs.ts";

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, hide() {} };

/** A hub in this process, behind calls that take a turn as those between objects do. */
function hubOf(lines: HubLines): HubPort {
  const later = async <T>(work: () => T): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    return work();
  };
  return {
    publish: (topics) => later(() => lines.publish(topics)),
    listen: (line, topics) => later(() => lines.open(line, topics)),
    watch: (line, topics) => later(() => lines.watch(line, topics)),
    unwatch: (line, topics) => later(() => lines.unwatch(line, topics)),
    hangUp: (line) => later(() => lines.close(line)),
    tick: () => Promise.resolve(),
  };
}

describe("the bus of requests by way of the hub", () => {
  const opened: HubBus[] = [];
  const busOn = (hub: HubPort): HubBus => {
    const local = createMemoryBus((fault) => {
      throw fault;
    });
    const bus = new HubBus({ local, hub, log: quiet, keep: (work) => void work.catch(() => {}) });
    opened.push(bus);
    return bus;
  };
  afterEach(() => opened.splice(0).forEach((bus) => bus.close()));

  it("tells who waits in another request of the topics it waits for, and of no others", async () => {
    const hub = hubOf(new HubLines());
    const [reader, writer] = [busOn(hub), busOn(hub)];
    const [wanted, other] = [vi.fn<() => void>(), vi.fn<() => void>()];
    reader.subscribe("process:1", wanted);
    reader.subscribe("process:2", other);
    await vi.waitFor(() => expect(wanted).toHaveBeenCalledTimes(1));
    await vi.waitFor(() => expect(other).toHaveBeenCalledTimes(1));
    writer.publish("process:1");
    await vi.waitFor(() => expect(wanted).toHaveBeenCalledTimes(2));
    expect(other).toHaveBeenCalledTimes(1);
  });

  it("has subscribers look once more when the hub has heard of them: nothing published in between is missed", async () => {
    const hub = hubOf(new HubLines());
    const bus = busOn(hub);
    const [first, second] = [vi.fn<() => void>(), vi.fn<() => void>()];
    bus.subscribe("process:1", first);
    await vi.waitFor(() => expect(first).toHaveBeenCalledTimes(1));
    bus.subscribe("process:2", second);
    await vi.waitFor(() => expect(second).toHaveBeenCalledTimes(1));
    expect(first).toHaveBeenCalledTimes(1);
  });

  it("holds a line only while somebody waits", async () => {
    const lines = new HubLines();
    const bus = busOn(hubOf(lines));
    const look = vi.fn<() => void>();
    const end = bus.subscribe("events", look);
    await vi.waitFor(() => expect(lines.ids).toHaveLength(1));
    await vi.waitFor(() => expect(look).toHaveBeenCalled());
    end();
    await vi.waitFor(() => expect(lines.ids).toHaveLength(0));
    bus.subscribe("events", look);
    await vi.waitFor(() => expect(lines.ids).toHaveLength(1));
  });

  it("opens a line again that broke, and then all look", async () => {
    let lines = new HubLines();
    const hub: HubPort = {
      ...hubOf(lines),
      listen: (line, topics) => Promise.resolve(lines.open(line, topics)),
    };
    const bus = busOn(hub);
    const look = vi.fn<() => void>();
    bus.subscribe("events", look);
    await vi.waitFor(() => expect(look).toHaveBeenCalledTimes(1));
    const former = lines;
    lines = new HubLines();
    former.ids.forEach((id) => former.close(id));
    await vi.waitFor(() => expect(look).toHaveBeenCalledTimes(2));
    expect(lines.ids).toHaveLength(1);
  });

  it("sends what is published together in one call", async () => {
    const hub = hubOf(new HubLines());
    const publish = vi.spyOn(hub, "publish");
    const bus = busOn(hub);
    for (let n = 0; n < 100; n++) bus.publish(`process:${n % 10}`);
    await vi.waitFor(() => expect(publish).toHaveBeenCalledTimes(1));
    expect(publish.mock.calls[0]?.[0]).toHaveLength(10);
  });
});
