import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import { createClient } from "../../sdk/client.ts";
import { followFanout, type FanoutEvent } from "../../sdk/events.ts";
import type { Api } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";
import { Proxy } from "../support/proxy.ts";

const names = ["n1", "n2", "n3", "n4"];
const product = useProduct();

describe("a fan-out on two control planes", () => {
  let b: { port: number; api: Api };
  const lines: Proxy[] = [];

  beforeAll(async () => {
    b = await product.anotherControlPlane();
    // Half of the agents are on each.
    for (const [at, name] of names.entries()) {
      const line = await Proxy.to(at % 2 === 0 ? product.port : b.port);
      lines.push(line);
      await product.agent(name, { url: line.url });
    }
    return () => Promise.all(lines.map((line) => line.close()));
  }, 120_000);

  const ran = (file: string): string[] => {
    const path = join(product.folder, file);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  const create = (api: Api, file: string, more: object) =>
    api.get<FanoutView>("POST /v1/fanouts", {
      body: {
        selector: "*",
        process: {
          command: `echo $DROVER_NODE >>${file}; sleep 0.5; echo $DROVER_NODE`,
          cwd: product.folder,
        },
        ...more,
      },
    });
  const follow = async (api: Api, id: string): Promise<FanoutEvent[]> => {
    const heard: FanoutEvent[] = [];
    for await (const event of followFanout(createClient({ url: api.url, token: api.token }), id))
      heard.push(event);
    return heard;
  };
  const outputOf = (heard: FanoutEvent[], node: string): string =>
    heard.flatMap((event) => (event.type === "output" && event.node === node ? [event.text] : [])).join("");

  it("runs on the agents of both, once each, and is followed at either", async () => {
    const { id } = await create(product.api, "both", { parallel: 2 });
    for (const heard of await Promise.all([follow(product.api, id), follow(b.api, id)]))
      for (const name of names) expect(outputOf(heard, name)).toBe(`${name}\n`);
    expect(await b.api.get(`GET /v1/fanouts/${id}`)).toMatchObject({ status: "succeeded", groupCount: 4 });
    expect(ran("both").toSorted()).toEqual(names);
  });

  it("goes on when the one that made it is killed, and no node runs it twice", async () => {
    const { id } = await create(product.api, "killed", { parallel: 1 });
    const following = follow(b.api, id);
    await eventually(() => ran("killed").length === 1);
    for (const line of lines) line.target = b.port;
    await product.killControlPlane();
    await eventually(
      async () => (await b.api.get<FanoutView>(`GET /v1/fanouts/${id}`)).endedAt !== null,
      90_000,
    );
    const { data } = await b.api.get<{ data: FanoutNodeView[] }>(`GET /v1/fanouts/${id}/nodes`);
    expect(data.map(({ node, status }) => [node, status])).toEqual(names.map((name) => [name, "succeeded"]));
    expect(ran("killed").toSorted()).toEqual(names);
    const heard = await following;
    for (const name of names) expect(outputOf(heard, name)).toBe(`${name}\n`);
  });
});
