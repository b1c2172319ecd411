import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Product } from "../../support/product.ts";
import { eventually } from "../../support/eventually.ts";
import { Proxy } from "../../support/proxy.ts";
import { follow } from "../follow.ts";

/** Agents that go and come back, with what runs there. */
export const connections = (product: Product): void => {
  const untilGiven = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;
  const give = (name: string) => writeFileSync(join(product.folder, name), "");
  const start = (node: string, command: string) =>
    product.api.start({ node, cwd: product.folder, command, stdin: "pipe" });

  describe("an agent that comes back", () => {
    let line: Proxy;
    beforeAll(async () => {
      line = await Proxy.to(product.port);
      await product.agent("line", { url: line.url });
    });
    afterAll(() => line.close());

    it("after a crash finds what it started, and who followed it misses nothing", async () => {
      const { id } = await start("n2", `seq 1 500; ${untilGiven("again")}; seq 501 1000; read -r l; exit 3`);
      const reader = follow(product, id);
      await reader.hears("\n500\n");
      await eventually(async () => (await product.api.process(id)).status === "running");
      await product.agents.get("n2")?.kill();
      await product.status("n2", "unreachable");
      expect(await product.api.process(id)).toMatchObject({ status: "running", stale: true });
      give("again");
      await product.agents.get("n2")?.start();
      await reader.hears("\n1000\n");
      await product.api.get(`POST /v1/processes/${id}/stdin`, { body: { eof: true } });
      await reader.ended;
      expect(reader.text()).toBe(Array.from({ length: 1000 }, (_, n) => `${n + 1}\n`).join(""));
      expect(reader.heard.at(-2)?.data).toMatchObject({ status: "exited", exitCode: 3 });
    });

    it("after its line was cut, again and again in the midst of much output, has lost none of it", async () => {
      const { id } = await start("line", `seq 1 300000; ${untilGiven("cut")}; seq 300001 300100; exit 4`);
      const reader = follow(product, id);
      line.closeAfter(700_000);
      await reader.hears("\n200000\n");
      line.heal();
      await reader.hears("\n300000\n");
      line.cut();
      give("cut");
      await reader.ended;
      expect(line.opened).toBeGreaterThan(3);
      const expected = Array.from({ length: 300_100 }, (_, n) => `${n + 1}\n`).join("");
      expect(reader.text() === expected).toBe(true);
      expect(await product.api.process(id)).toMatchObject({ status: "exited", exitCode: 4, stale: false });
      expect((await product.api.raw(id)).equals(Buffer.from(expected))).toBe(true);
    });
  });
};
