import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fanoutBody } from "#shared/api/fanout.ts";
import { DroverError, type ErrorCode } from "#shared/errors.ts";
import { newId } from "#shared/ids.ts";
import { createFanout } from "../../../control-plane/actions/create-fanout.ts";
import { runFanout } from "../../../control-plane/actions/run-fanout.ts";
import type { Needs } from "../../../control-plane/needs.ts";
import { sealWith } from "../../../control-plane/secrets/seal.ts";
import { openRig, type Rig } from "../link/rig.ts";

describe("a step of a fan-out whose start is refused", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig.close());

  const created = async (more: object = {}): Promise<string> => {
    const node = await rig.node();
    await rig.online(node.id);
    const name = node.id.replace("_", "-");
    const body = fanoutBody.parse({ selector: `name=${name}`, process: { command: "x" }, ...more });
    return (await createFanout(rig.needs, body, { id: newId("fan"), createdBy: null })).id;
  };
  const refusing = (code: ErrorCode): Needs => {
    const insert = () => Promise.reject(new DroverError(code, "no"));
    return { ...rig.needs, store: { ...rig.store, processes: { ...rig.store.processes, insert } } };
  };
  const row = async (id: string) => (await rig.store.fanouts.nodes(id, { limit: 1 }))[0];

  it.each<[ErrorCode, "fail" | "queue", string, string | null]>([
    ["node_draining", "fail", "skipped", "node_draining"],
    ["node_draining", "queue", "skipped", "node_draining"],
    ["node_leased", "fail", "skipped", "node_leased"],
    ["command_refused", "fail", "skipped", "command_refused"],
    ["not_found", "fail", "skipped", "node_deleted"],
    ["queue_full", "fail", "waiting", "queue_full"],
    ["queue_full", "queue", "waiting", "queue_full"],
    ["node_offline", "queue", "waiting", "node_offline"],
    ["node_offline", "fail", "waiting", "node_offline"],
  ])("with %s (ifOffline: %s) leaves the node %s", async (code, ifOffline, status, reason) => {
    const id = await created({ ifOffline });
    await runFanout(refusing(code), id);
    expect(await row(id)).toMatchObject({ status, reason, processId: null, startedAt: null });
  });

  it("because its node has been silent for long skips it, though the store believes it to be there", async () => {
    const id = await created();
    rig.clock.aheadMs = 61_000;
    await runFanout(refusing("node_offline"), id);
    rig.clock.aheadMs = 0;
    expect(await row(id)).toMatchObject({ status: "skipped", reason: "node_offline" });
  });

  it.each<ErrorCode>(["unavailable", "internal"])(
    "with %s keeps the claim, and tries it again",
    async (code) => {
      const id = await created();
      await runFanout(refusing(code), id);
      const claimed = await row(id);
      expect(claimed).toMatchObject({ status: "running", startedAt: null, processId: expect.any(String) });
      rig.clock.aheadMs = 3000;
      await runFanout(rig.needs, id);
      rig.clock.aheadMs = 0;
      const processId = claimed?.processId ?? "";
      expect(await row(id)).toMatchObject({ status: "running", startedAt: expect.any(Date), processId });
      expect(await rig.store.processes.get(processId)).toMatchObject({ fanoutId: id });
    },
  );

  it("pauses before it claims anything when its secrets cannot be opened", async () => {
    const id = await created({ process: { command: "x", env: { A: "1" } } });
    const seal = await sealWith(Uint8Array.from(randomBytes(32)));
    await runFanout({ ...rig.needs, seal }, id);
    expect(await rig.store.fanouts.get(id)).toMatchObject({ status: "paused", reason: "secrets_unreadable" });
    expect(await row(id)).toMatchObject({ status: "waiting", processId: null });
  });
});
