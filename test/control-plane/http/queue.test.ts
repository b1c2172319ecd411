import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queueGauge } from "../../../control-plane/queue-gauge.ts";
import { openService, type Service } from "./service.ts";

describe("the queue of all nodes", () => {
  let service: Service;
  let nodeId: string;
  const waiting = (change: object = {}) =>
    service.post("/v1/processes", { node: nodeId, command: "true", ifOffline: "queue", ...change });

  beforeAll(async () => {
    service = await openService();
    service.needs.queue = queueGauge(service.needs.store.processes, 2);
    nodeId = (await service.rig.node()).id;
  });
  afterAll(() => service.close());

  it("takes no more than its bound, tells when to come again, and knows a key that it has", async () => {
    const first = await waiting({ key: "one" });
    expect(first).toMatchObject({ status: 201, body: { status: "queued" } });
    expect((await waiting()).status).toBe(201);
    const refused = await waiting();
    expect(refused).toMatchObject({ status: 429, body: { code: "queue_full" } });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await waiting({ key: "one" })).toMatchObject({
      status: 200,
      body: { id: first.body["id"], attached: true },
    });
  });

  it("takes a start that a node can run at once, however full it is", async () => {
    const free = await service.node();
    const { status } = await service.post("/v1/processes", { node: free.id, command: "true" });
    expect(status).toBe(201);
  });

  it("has room again when it is counted anew and starts have left it", async () => {
    let nowMs = 0;
    let queued = 3;
    const gauge = queueGauge({ countQueued: async () => queued }, 3, () => nowMs);
    expect(await gauge.hasRoom()).toBe(false);
    queued = 1;
    expect(await gauge.hasRoom()).toBe(false);
    nowMs = 5000;
    expect([await gauge.hasRoom(), await gauge.hasRoom(), await gauge.hasRoom()]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
