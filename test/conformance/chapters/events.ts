import { describe, expect, it } from "vitest";
import { Reader, type Event } from "../../control-plane/http/stream-reader.ts";
import type { Product } from "../../support/product.ts";
import { farEnd } from "../wire.ts";

/** What happens to nodes, as a stream. */
export const events = (product: Product): void => {
  const listen = async (from?: string) =>
    new Reader(
      await product.api.fetch("GET /v1/events", {
        headers: from === undefined ? {} : { "last-event-id": from },
      }),
    );
  const nextOf = async (reader: Reader, nodeId: string): Promise<Event> => {
    for (;;) {
      const event = await reader.next();
      if (event === undefined) throw new Error("the stream ended");
      if (event.data["nodeId"] === nodeId) return event;
    }
  };

  describe("the events of the fleet", () => {
    it("tell of a node from its enrolment to its end, and go on behind any of them", async () => {
      const live = await listen();
      const begin = await live.next();
      expect(begin).toMatchObject({ event: "begin", id: expect.any(String) });
      const { nodeId, name, agent } = await farEnd(product, "told");
      const heard = [await nextOf(live, nodeId), await nextOf(live, nodeId)];
      await product.api.get(`PATCH /v1/nodes/${name}`, { body: { labels: { a: "b" } } });
      heard.push(await nextOf(live, nodeId));
      agent.cut();
      heard.push(await nextOf(live, nodeId));
      await product.api.api(`DELETE /v1/nodes/${name}`);
      heard.push(await nextOf(live, nodeId));
      await live.leave();
      expect(heard[0]).toEqual({
        ...{ id: expect.any(String), event: "node.enrolled" },
        data: {
          ...{ type: "node.enrolled", at: expect.stringMatching(/Z$/), nodeId },
          data: { name, replaced: false },
        },
      });
      expect(heard.map(({ event }) => event)).toEqual(
        ["enrolled", "online", "changed", "unreachable", "deleted"].map((verb) => `node.${verb}`),
      );
      for (const [n, { id }] of [begin, ...heard.slice(0, -1)]
        .map((event) => event ?? { id: "" })
        .entries()) {
        const behind = await listen(id);
        expect(await nextOf(behind, nodeId)).toEqual(heard[n]);
        await behind.leave();
      }
    });

    it("are not told from a place that there is not", async () => {
      const from = { query: { from: "nonsense" } };
      expect(await product.api.api("GET /v1/events", from)).toMatchObject({
        status: 400,
        value: { code: "invalid_request", issues: [{ path: "from" }] },
      });
    });
  });
};
