import { describe, expect, it } from "vitest";
import type { Product } from "../../support/product.ts";
import { follow } from "../follow.ts";
import type { Power, Runtime } from "../runtimes/runtime.ts";

/** A control plane whose objects sleep with their sockets open, or are moved: only some runtimes do such things. */
export const naps = (product: Product, runtime: Runtime): void => {
  const use = async (power: Power): Promise<void> => {
    const done = product.controlPlane?.[power]?.();
    if (done === undefined) throw new Error(`a running ${runtime.name} has no ${power}`);
    await done;
  };
  const echo = () =>
    product.api.start({
      node: "n1",
      stdin: "pipe",
      command: 'echo up; while read -r l; do echo "$l"; done; exit 3',
    });
  const send = (id: string, body: object) => product.api.get(`POST /v1/processes/${id}/stdin`, { body });

  describe.runIf(runtime.powers.includes("hibernate"))("a control plane that hibernates", () => {
    it("wakes for the next command, and its agents have noticed nothing", async () => {
      expect((await product.api.exec({ node: "n1", command: "exit 1" })).exitCode).toBe(1);
      const { connectedAt } = await product.node("n1");
      await use("hibernate");
      expect((await product.api.exec({ node: "n1", command: "exit 2" })).exitCode).toBe(2);
      expect(await product.node("n1")).toMatchObject({ status: "online", connectedAt });
    });

    it("hears of what ended while it slept, and still writes to what runs", async () => {
      const { id } = await echo();
      await product.api.printed(id, "up");
      const ending = await product.api.start({ node: "n1", command: "sleep 0.3; exit 4" });
      await use("hibernate");
      expect(await product.api.final(ending.id)).toMatchObject({ status: "exited", exitCode: 4 });
      await use("hibernate");
      await send(id, { text: "awake\n", eof: true });
      expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 3 });
      expect((await product.api.output(id)).text).toBe("up\nawake\n");
    });
  });

  describe.runIf(runtime.powers.includes("evict"))("a control plane that is evicted", () => {
    it("in the midst of a follow interrupts it: nothing is lost or told twice", async () => {
      const { id } = await echo();
      const reader = follow(product, id);
      await reader.hears("up\n");
      await use("evict");
      await product.status("n1", "online");
      await send(id, { text: "one\n" });
      await reader.hears("one\n");
      await send(id, { eof: true });
      await reader.ended;
      expect(reader.text()).toBe("up\none\n");
      expect(reader.heard.filter(({ event }) => event === "exit")).toHaveLength(1);
    });
  });
};
