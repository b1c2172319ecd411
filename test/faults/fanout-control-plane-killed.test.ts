import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import { createClient } from "../../sdk/client.ts";
import { followFanout, type FanoutEvent } from "../../sdk/events.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const names = ["n1", "n2", "n3", "n4"];
const product = useProduct({ agents: names });
const lines = (name: string): string[] => {
  const path = join(product.folder, name);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
};
const create = async (body: object) => {
  await Promise.all(names.map((name) => product.status(name, "online")));
  return product.api.get<FanoutView>("POST /v1/fanouts", { body });
};
const get = (id: string) => product.api.get<FanoutView>(`GET /v1/fanouts/${id}`);
const isFinal = async (id: string) => (await get(id)).endedAt !== null;
const restart = async () => {
  await product.killControlPlane();
  await product.startControlPlane();
};

async function follow(id: string, heard: FanoutEvent[]): Promise<void> {
  const client = createClient({ url: product.api.url, token: product.token });
  for await (const event of followFanout(client, id)) heard.push(event);
}

describe("kill -9 of the control plane in the middle of a fan-out", () => {
  it("stops it nowhere: it goes on, and each node has run the command exactly once", async () => {
    const command = "echo $DROVER_NODE >>ran; echo begin; sleep 1; echo $DROVER_NODE";
    const { id } = await create({ selector: "*", parallel: 1, process: { command, cwd: product.folder } });
    const heard: FanoutEvent[] = [];
    const following = follow(id, heard);
    await eventually(() => lines("ran").length === 1);
    await restart();
    await eventually(() => lines("ran").length === 3, 60_000);
    await restart();
    await eventually(() => isFinal(id), 60_000);
    expect(await get(id)).toMatchObject({ status: "succeeded", counts: { succeeded: 4 } });
    expect(lines("ran")).toEqual(names);
    await following;
    for (const name of names) {
      const ofNode = heard.filter((event) => "node" in event && event.node === name);
      const text = ofNode.flatMap((event) => (event.type === "output" ? [event.text] : [])).join("");
      expect(text).toBe(`begin\n${name}\n`);
      expect(ofNode.filter((event) => event.type === "node" && event.status === "succeeded")).toHaveLength(1);
    }
    expect(heard.at(-1)?.type).toBe("end");
  });

  it("right after each of its first moments runs nothing twice and forgets no node", async () => {
    for (const afterMs of [0, 5, 15, 40, 100]) {
      const file = `moment${afterMs}`;
      const process = { command: `echo $DROVER_NODE >>${file}`, cwd: product.folder };
      const { id } = await create({ selector: "*", process });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await restart();
      await eventually(() => isFinal(id), 90_000);
      const { data } = await product.api.get<{ data: FanoutNodeView[] }>(`GET /v1/fanouts/${id}/nodes`);
      expect(data.map(({ node, status }) => [node, status])).toEqual(
        names.map((name) => [name, "succeeded"]),
      );
      expect(lines(file).toSorted()).toEqual(names);
    }
  });

  it("leaves a cancel that was asked for before it: what runs is stopped, nothing else starts", async () => {
    const process = {
      command: "echo $DROVER_NODE >>canceled; trap '' TERM; sleep 600",
      cwd: product.folder,
      graceMs: 500,
    };
    const { id } = await create({ selector: "*", parallel: 1, process });
    await eventually(() => lines("canceled").length === 1);
    await product.agents.get("n1")?.kill();
    await product.api.get(`POST /v1/fanouts/${id}/cancel`);
    await restart();
    await product.agents.get("n1")?.start();
    await eventually(() => isFinal(id), 60_000);
    expect(await get(id)).toMatchObject({ status: "canceled", counts: { canceled: 4 } });
    expect(lines("canceled")).toEqual(["n1"]);
  });
});
