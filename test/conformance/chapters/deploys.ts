import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Reader } from "../../control-plane/http/stream-reader.ts";
import { eventually } from "../../support/eventually.ts";
import type { Product } from "../../support/product.ts";
import { follow } from "../follow.ts";

/** A control plane that is killed and comes back: all sockets drop, nothing is said to anybody. */
export const deploys = (product: Product): void => {
  const path = (name: string) => join(product.folder, name);
  const give = (name: string) => writeFileSync(path(name), "");
  const untilGiven = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;
  const start = (command: string, more: Record<string, unknown> = {}) =>
    product.api.start({ node: "n1", cwd: product.folder, command, ...more });
  const numbers = (to: number) => Array.from({ length: to }, (_, n) => `${n + 1}\n`).join("");
  describe("a control plane that is killed", () => {
    it("loses no ending, no byte, and no place of who follows", async () => {
      const ending = await start(`${untilGiven("end")}; seq 1 20000; echo >ended; exit 5`);
      const going = await start(
        `seq 1 500; ${untilGiven("end")}; seq 501 1000; ${untilGiven("more")}; seq 1001 1500`,
      );
      const reader = follow(product, going.id);
      await reader.hears("\n500\n");
      const fleet = new Reader(await product.api.fetch("GET /v1/events"));
      const begin = await fleet.until("begin");
      await product.killControlPlane();
      give("end");
      await eventually(() => existsSync(path("ended")));
      await product.startControlPlane();
      expect(await product.api.final(ending.id)).toMatchObject({ status: "exited", exitCode: 5 });
      expect((await product.api.raw(ending.id)).toString()).toBe(numbers(20_000));
      await reader.hears("\n1000\n");
      give("more");
      await reader.ended;
      expect(reader.text()).toBe(numbers(1500));
      expect(reader.heard.filter(({ event }) => event === "exit")).toHaveLength(1);
      const behind = new Reader(
        await product.api.fetch("GET /v1/events", { query: { from: begin.id ?? "" } }),
      );
      await product.api.get("PATCH /v1/nodes/n1", { body: { labels: { after: "deploy" } } });
      expect((await behind.until("node.changed")).data["data"]).toMatchObject({ name: "n1" });
      await behind.leave();
    });

    it("has not forgotten what was asked before: a start with its key, a stop, a fan-out", async () => {
      const keyed = { key: "deploy", graceMs: 60_000 };
      const stubborn = "trap '' TERM; echo up; sleep 600 & wait; sleep 600";
      const { id } = await start(stubborn, keyed);
      await product.api.printed(id, "up");
      const fanout = await product.api.get<{ id: string }>("POST /v1/fanouts", {
        body: { selector: "n?", process: { command: untilGiven("fan"), cwd: product.folder } },
      });
      // Nobody waits for the answer: the wish is stored before the node hears of it.
      const body = { graceMs: 0 };
      const asked = product.api.api(`POST /v1/processes/${id}/stop`, { body }).catch(() => undefined);
      await eventually(async () => (await product.api.process(id)).status !== "running");
      await product.killControlPlane();
      await product.startControlPlane();
      await asked;
      give("fan");
      expect(await product.api.final(id)).toMatchObject({ status: "killed", reason: "stopped" });
      expect(await start(stubborn, keyed)).toMatchObject({ id, attached: true });
      const waited = { query: { waitMs: 60_000 } };
      expect(await product.api.get(`GET /v1/fanouts/${fanout.id}`, waited)).toMatchObject({
        status: "succeeded",
      });
    });
  });
};
