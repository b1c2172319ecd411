import { describe, expect, it } from "vitest";
import { tick } from "../../../control-plane/scheduler/tick.ts";
import { eventually } from "../../support/eventually.ts";
import { openService } from "./service.ts";

describe("without a driver", () => {
  it("the ticks alone bring a fan-out to its end, and take up claims that were cut off", async () => {
    const service = await openService();
    const [one, other] = [await service.node(), await service.node()];
    for (const { played } of [one, other]) played.onStart = ({ id }) => played.exit(id);
    const { body } = await service.post("/v1/fanouts", {
      selector: "*",
      process: { command: "x" },
      parallel: 1,
    });
    const id = String(body["id"]);
    // A control plane that dies between the claim and the start.
    const claimed = await service.needs.store.fanouts.advance(id, {
      ...{
        now: service.needs.now(),
        graceMs: 1000,
        staleMs: 3000,
        batch: 10,
        newProcessId: () => "proc_00000000000000000000000001",
      },
      outlook: ({ status, reason }) => ({ status, reason, expire: false, room: 1, lookAt: null }),
    });
    expect(claimed).toMatchObject({
      outcome: "advanced",
      starts: [{ processId: "proc_00000000000000000000000001" }],
    });
    service.rig.clock.aheadMs = 4000;
    const isDone = async () => {
      await tick(service.needs, { since: new Date(), prunedAt: new Date() });
      return (await service.get(`/v1/fanouts/${id}`)).body["status"] === "succeeded";
    };
    await eventually(isDone);
    expect([one, other].map(({ played }) => played.launches.length)).toEqual([1, 1]);
    await service.close();
  });
});
