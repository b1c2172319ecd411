import { describe, expect, it } from "vitest";
import { noon, after, type OpenStore } from "./store-samples.ts";

export function policiesContract(store: OpenStore): void {
  describe("the policy of the fleet", () => {
    it("is unknown until it is given, and then what was given last", async () => {
      const { policies } = store();
      expect(await policies.fleet()).toBeUndefined();
      expect(await policies.recentFleet()).toBeUndefined();
      await policies.setFleet({ policy: { readOnly: true, allowRules: ["power"] }, updatedAt: noon });
      const first = { policy: { readOnly: true, allowRules: ["power"] }, updatedAt: noon };
      expect(await policies.fleet()).toEqual(first);
      expect(await policies.recentFleet()).toEqual(first);
      await policies.setFleet({ policy: {}, updatedAt: after(1000) });
      expect(await policies.fleet()).toEqual({ policy: {}, updatedAt: after(1000) });
      expect(await policies.recentFleet()).toEqual({ policy: {}, updatedAt: after(1000) });
    });
  });
}
