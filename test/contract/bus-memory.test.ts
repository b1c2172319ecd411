import { expect, it } from "vitest";
import { createMemoryBus } from "../../control-plane/bus/memory.ts";
import { busSuite } from "./bus-suite.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

busSuite("in memory", () => {
  const bus = createMemoryBus((fault) => {
    throw fault;
  });
  return { bus, settled };
});

it("the bus in memory hands the fault of a subscriber on and disturbs no other", async () => {
  const faults: unknown[] = [];
  const bus = createMemoryBus((fault) => faults.push(fault));
  let looked = false;
  bus.subscribe("process:a", () => {
    throw new Error("a bad look");
  });
  bus.subscribe("process:a", () => (looked = true));
  bus.publish("process:a");
  await settled();
  expect([faults, looked]).toEqual([[new Error("a bad look")], true]);
});
