import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { bytesOf, hear } from "../support/event-stream.ts";
import { useProduct } from "../support/product.ts";
import { Proxy, type Direction } from "../support/proxy.ts";

const product = useProduct();
const directions = ["up", "down"] as const;
const proxies = new Map<Direction, Proxy>();
const proxyOf = (direction: Direction): Proxy => {
  const proxy = proxies.get(direction);
  if (!proxy) throw new Error("no proxy");
  return proxy;
};

beforeAll(async () => {
  for (const direction of directions) {
    const proxy = await Proxy.to(product.port);
    proxies.set(direction, proxy);
    await product.agent(direction, { url: proxy.url });
  }
});
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close();
});

// Both at once, as each takes the time after which silence counts as the end of a line.
describe("a line that swallows what is sent", () => {
  it.concurrent.each(directions)(
    "in the direction %s is noticed at both ends, and nothing is lost or doubled",
    async (direction) => {
      const proxy = proxyOf(direction);
      const path = (name: string) => join(product.folder, `${direction}-${name}`);
      const command = `echo run >>${direction}-runs; seq 1 1000; while [ ! -e ${direction}-go ]; do sleep 0.05; done; seq 1001 2000; echo >${direction}-ended; exit 6`;
      const { id } = await product.api.start({ node: direction, cwd: product.folder, command });
      const heard = hear(product.api, id, { limitMs: 150_000 });
      await product.api.printed(id, "1000");
      proxy.blackhole(direction);
      writeFileSync(path("go"), "");
      await eventually(() => existsSync(path("ended")));
      await product.status(direction, "unreachable");
      // What the node says gets through while only its ear is deaf.
      expect(await product.api.process(id)).toMatchObject(
        direction === "up" ? { status: "running", stale: true } : { status: "exited", stale: false },
      );
      proxy.heal();
      await product.status(direction, "online");
      expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 6 });
      expect(bytesOf(await heard).toString()).toBe(
        Array.from({ length: 2000 }, (_, n) => `${n + 1}\n`).join(""),
      );
      expect(readFileSync(path("runs"), "utf8")).toBe("run\n");
    },
    180_000,
  );

  it("only for a moment is no event at all", async () => {
    const proxy = proxyOf("up");
    const { connectedAt } = await product.node("up");
    for (const direction of directions) proxy.blackhole(direction);
    const started = product.api.exec({ node: "up", command: "echo patient" });
    await eventually(
      async () =>
        (await product.api.get<{ data: { command: string }[] }>("GET /v1/processes", { query: { limit: 1 } }))
          .data[0]?.command === "echo patient",
    );
    proxy.heal();
    expect(await started).toMatchObject({ status: "exited", exitCode: 0, result: { text: "patient\n" } });
    expect((await product.node("up")).connectedAt).toBe(connectedAt);
  });
});
