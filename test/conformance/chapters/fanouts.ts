import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutSummary, FanoutView } from "#shared/api/fanout.ts";
import { Reader, type Event } from "../../control-plane/http/stream-reader.ts";
import { eventually } from "../../support/eventually.ts";
import type { Product } from "../../support/product.ts";

/** One command on many nodes. */
export const fanouts = (product: Product): void => {
  const post = (body: object, headers: Record<string, string> = {}) =>
    product.api.api<FanoutView & { code: string }>("POST /v1/fanouts", { body, headers });
  const create = async (command: string, more: Record<string, unknown> = {}) =>
    (await post({ selector: "n?", process: { command, cwd: product.folder }, ...more })).value;
  const get = (id: string) => product.api.get<FanoutView>(`GET /v1/fanouts/${id}`);
  const final = (id: string) =>
    product.api.get<FanoutView>(`GET /v1/fanouts/${id}`, { query: { waitMs: 30_000 } });
  const steer = (id: string, verb: string) => product.api.api<FanoutView>(`POST /v1/fanouts/${id}/${verb}`);
  const rows = async (id: string) =>
    (await product.api.get<{ data: FanoutNodeView[] }>(`GET /v1/fanouts/${id}/nodes`)).data;
  const events = async (id: string, lastEventId?: string) =>
    new Reader(
      await product.api.fetch(`GET /v1/fanouts/${id}/events`, {
        headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
      }),
    );
  const path = (name: string) => join(product.folder, name);

  describe("a fan-out", () => {
    it("runs on every node that matches, and folds what they wrote", async () => {
      const { id, counts } = await create(
        'if [ "$DROVER_NODE" = n2 ]; then echo two >&2; exit 4; fi; echo one',
      );
      expect(counts.waiting + counts.running + counts.succeeded + counts.failed).toBe(2);
      expect(await final(id)).toMatchObject({
        ...{ status: "failed", reason: "node_failures", groupCount: 2 },
        counts: { succeeded: 1, failed: 1, waiting: 0, running: 0 },
        groups: expect.arrayContaining([
          expect.objectContaining({ nodes: ["n1"], exitCode: 0, text: "one\n" }),
          expect.objectContaining({ nodes: ["n2"], exitCode: 4, text: "two\n" }),
        ]),
      });
      const [first, second] = await rows(id);
      expect([first, second]).toMatchObject([
        { node: "n1", status: "succeeded", exitCode: 0 },
        { node: "n2", status: "failed", exitCode: 4 },
      ]);
      expect(await product.api.process(second?.processId ?? "")).toMatchObject({ fanoutId: id, exitCode: 4 });
      const list = await product.api.get<{ data: FanoutSummary[] }>("GET /v1/fanouts", {
        query: { limit: 1 },
      });
      expect(list).toMatchObject({ data: [{ id, selector: "n?", status: "failed" }] });
    });

    it("is told as one stream, each output with its node, that is gone on with behind any event", async () => {
      const { id } = await create('echo "from $DROVER_NODE"; seq 1 20000');
      const heard = await (await events(id)).rest();
      const text = (all: Event[], node: string) =>
        all
          .filter(({ event, data }) => event === "output" && data["node"] === node)
          .map(({ data }) => data.text)
          .join("");
      const numbers = Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join("");
      expect(heard[0]).toMatchObject({ event: "start", data: { id } });
      expect(heard.slice(-2)).toMatchObject([
        { event: "exit", data: { status: "succeeded", counts: { succeeded: 2 } } },
        { event: "end", data: { status: "succeeded" } },
      ]);
      for (const [n, { id: at }] of heard.slice(0, -1).entries()) {
        const whole = [...heard.slice(0, n + 1), ...(await (await events(id, at)).rest())];
        for (const node of ["n1", "n2"])
          expect({ at, is: text(whole, node) === `from ${node}\n${numbers}` }).toEqual({ at, is: true });
        expect(whole.at(-1)?.event).toBe("end");
      }
      const over = { headers: { "last-event-id": heard.at(-1)?.id ?? "" } };
      expect((await product.api.fetch(`GET /v1/fanouts/${id}/events`, over)).status).toBe(204);
    });

    it("waits while it is paused, and goes on in its order when it is resumed", async () => {
      const command = "echo $DROVER_NODE >>steered; while [ ! -e go-fanout ]; do sleep 0.05; done";
      const { id } = await create(command, { parallel: 1 });
      await eventually(() => existsSync(path("steered")));
      expect(await steer(id, "pause")).toMatchObject({ status: 200, value: { status: "paused" } });
      writeFileSync(path("go-fanout"), "");
      await eventually(async () => (await get(id)).counts.succeeded === 1);
      expect(await get(id)).toMatchObject({
        ...{ status: "paused", reason: "requested" },
        counts: { succeeded: 1, waiting: 1 },
      });
      expect((await steer(id, "resume")).status).toBe(200);
      expect(await final(id)).toMatchObject({ status: "succeeded", counts: { succeeded: 2 } });
      expect(readFileSync(path("steered"), "utf8")).toBe("n1\nn2\n");
      expect(await steer(id, "pause")).toMatchObject({ status: 409, value: { code: "conflict" } });
    });

    it("is canceled with what runs, and runs again where it did not succeed", async () => {
      const { id } = await create("test -e fixed || { echo up; exec sleep 600; }");
      await eventually(async () => (await get(id)).counts.running === 2);
      expect((await steer(id, "cancel")).status).toBe(200);
      expect(await final(id)).toMatchObject({ status: "canceled", counts: { canceled: 2, running: 0 } });
      writeFileSync(path("fixed"), "");
      expect((await steer(id, "retry-failed")).status).toBe(200);
      expect(await final(id)).toMatchObject({ status: "succeeded", counts: { succeeded: 2 } });
      expect((await rows(id)).map(({ attempt }) => attempt)).toEqual([2, 2]);
    });

    it("is made once for an Idempotency-Key, and refused where it makes no sense", async () => {
      const sent = { selector: "name=n1", process: { command: "true" } };
      const [first, again] = [
        await post(sent, { "idempotency-key": "f" }),
        await post(sent, { "idempotency-key": "f" }),
      ];
      expect([first.status, again.status]).toEqual([201, 201]);
      expect(again.value.id).toBe(first.value.id);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      const { process } = sent;
      for (const [body, status] of [
        [{ selector: "", process }, 400],
        [{ selector: "n1", process }, 400],
        [{ ...sent, parallel: "101%" }, 400],
        [{ selector: "*", process: { command: "rm -rf /" } }, 422],
      ] as const)
        expect({ body, status: (await post(body)).status }).toEqual({ body, status });
      for (const unknown of ["nonsense", "fan_01h0000000000000000000000x"])
        for (const part of ["", "/nodes", "/events"])
          expect((await product.api.api(`GET /v1/fanouts/${unknown}${part}`)).status).toBe(404);
    });
  });
};
