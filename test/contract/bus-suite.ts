import { describe, expect, it } from "vitest";
import type { Bus } from "../../control-plane/bus/bus.ts";

/** What every bus promises; `settled` resolves when what was published has arrived. */
export function busSuite(name: string, open: () => { bus: Bus; settled(): Promise<void> }): void {
  describe(`the bus ${name}`, () => {
    it("makes every subscriber of a topic look, and no other", async () => {
      const { bus, settled } = open();
      const seen: string[] = [];
      bus.subscribe("process:a", () => seen.push("one"));
      bus.subscribe("process:a", () => seen.push("two"));
      bus.subscribe("node:a", () => seen.push("node"));
      bus.publish("process:a");
      await settled();
      expect(seen.toSorted()).toEqual(["one", "two"]);
    });

    it("looks at least once after the last of many changes", async () => {
      const { bus, settled } = open();
      let [value, seen] = [0, 0];
      bus.subscribe("process:a", () => (seen = value));
      for (value = 1; value < 100; value += 1) bus.publish("process:a");
      await settled();
      expect(seen).toBe(value);
    });

    it("looks again for a change that a look made", async () => {
      const { bus, settled } = open();
      let looks = 0;
      bus.subscribe("process:a", () => {
        looks += 1;
        if (looks === 1) bus.publish("process:a");
      });
      bus.publish("process:a");
      await settled();
      expect(looks).toBe(2);
    });

    it("looks no more after the subscription ended, also when it ends in the look of another", async () => {
      const { bus, settled } = open();
      const seen: string[] = [];
      const ends: (() => void)[] = [];
      bus.subscribe("process:a", () => {
        seen.push("first");
        for (const end of ends) end();
      });
      ends.push(bus.subscribe("process:a", () => seen.push("second")));
      bus.publish("process:a");
      await settled();
      bus.publish("process:a");
      await settled();
      expect(seen).toEqual(["first", "first"]);
    });

    it("keeps two subscriptions of one function apart", async () => {
      const { bus, settled } = open();
      let looks = 0;
      const look = (): void => void (looks += 1);
      const end = bus.subscribe("process:a", look);
      bus.subscribe("process:a", look);
      end();
      end();
      bus.publish("process:a");
      await settled();
      expect(looks).toBe(1);
    });
  });
}
