import { describe, expect, it } from "vitest";
import { Reader } from "../../control-plane/http/stream-reader.ts";
import { bytesOf, hear } from "../../support/event-stream.ts";
import { eventually } from "../../support/eventually.ts";
import type { Product } from "../../support/product.ts";
import { playedNode } from "../wire.ts";

/** A process as a stream of server-sent events. */
export const following = (product: Product): void => {
  const start = (command: string, more: Record<string, unknown> = {}) =>
    product.api.start({ node: "n1", command, ...more });
  const send = (id: string, body: object) => product.api.get(`POST /v1/processes/${id}/stdin`, { body });
  const open = async (id: string, headers: Record<string, string> = {}) =>
    new Reader(await product.api.fetch(`GET /v1/processes/${id}/events`, { headers }));
  const names = (heard: { event: string | undefined }[]) =>
    heard.map(({ event }) => event).filter((event, n, all) => event !== all[n - 1]);

  describe("following", () => {
    it("tells of the start, each byte, the ending and the end", async () => {
      const { id } = await product.api.exec({ node: "n1", command: "printf 'é\\377'; exit 3" });
      const answer = await product.api.fetch(`GET /v1/processes/${id}/events`);
      expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(answer.headers.get("cache-control")).toBe("no-store, no-transform");
      const heard = await new Reader(answer).rest();
      expect(names(heard)).toEqual(["start", "output", "exit", "end"]);
      expect(heard[0]?.data).toMatchObject({ id, command: "printf 'é\\377'; exit 3" });
      expect(heard.at(-2)?.data).toEqual({
        ...{ status: "exited", exitCode: 3, signal: null, reason: null, survivors: [] },
      });
      expect(heard.every(({ id: at }) => typeof at === "string" && at !== "")).toBe(true);
    });

    it("begins at any byte, and goes on behind any event by either way of saying so", async () => {
      const { id } = await product.api.exec({
        node: "n1",
        command: "seq 1 30000; printf 'é€😀\\377'; exit 3",
      });
      const whole = await product.api.raw(id);
      const heard = await hear(product.api, id);
      expect(bytesOf(heard).equals(whole)).toBe(true);
      for (const from of [1, 5000, whole.length])
        expect(bytesOf(await hear(product.api, id, { from }), { from }).equals(whole.subarray(from))).toBe(
          true,
        );
      for (const [n, { id: at = "", event }] of heard.entries()) {
        if (event === "end") continue;
        const behind = heard.slice(n + 1).map(({ id: next }) => next);
        for (const resume of [{ lastEventId: at }, { from: at }])
          expect((await hear(product.api, id, resume)).map(({ id: next }) => next)).toEqual(behind);
      }
      const over = { headers: { "last-event-id": heard.at(-1)?.id ?? "" } };
      expect((await product.api.fetch(`GET /v1/processes/${id}/events`, over)).status).toBe(204);
      for (const from of ["nonsense", "-1", whole.length + 1])
        expect(await product.api.api(`GET /v1/processes/${id}/events`, { query: { from } })).toMatchObject({
          status: 400,
          value: { issues: [{ path: "from" }] },
        });
    });

    it("hears what comes as it comes, and every reader all of it from where it began", async () => {
      const { id } = await start('echo one; while read -r line; do echo "$line"; done', { stdin: "pipe" });
      await product.api.printed(id, "one");
      const readers = [hear(product.api, id), hear(product.api, id, { from: 2 })];
      const live = await open(id);
      expect((await live.until("output")).data.text).toBe("one\n");
      await send(id, { text: "two\n" });
      const second = await live.until("output");
      expect(second.data).toMatchObject({ from: 4, to: 8, text: "two\n" });
      await live.leave();
      await send(id, { text: "three\n", eof: true });
      const [all, some] = await Promise.all(readers);
      expect(bytesOf(all ?? []).toString()).toBe("one\ntwo\nthree\n");
      expect(bytesOf(some ?? [], { from: 2 }).toString()).toBe("e\ntwo\nthree\n");
      const rest = await hear(product.api, id, { lastEventId: second.id ?? "" });
      expect(bytesOf(rest, { from: 8 }).toString()).toBe("three\n");
      expect(names(rest)).toEqual(["output", "exit", "end"]);
    });

    it("of split streams tells each byte with its stream", async () => {
      const { id } = await start("echo out; echo err >&2; read -r line; echo more", {
        ...{ output: "split", stdin: "pipe" },
      });
      await product.api.get(`POST /v1/processes/${id}/wait`, { body: { for: ["pattern"], pattern: "out" } });
      const reading = hear(product.api, id);
      await send(id, { eof: true });
      const heard = await reading;
      expect(bytesOf(heard, { stream: "stdout" }).toString()).toBe("out\nmore\n");
      expect(bytesOf(heard, { stream: "stderr" }).toString()).toBe("err\n");
    });

    it("goes on to `end` only when the last survivor is gone", async () => {
      const { id } = await start("sleep 600 & echo left; exit 2");
      const heard = await hear(product.api, id, { until: ({ event }) => event === "exit" });
      expect(heard.at(-1)?.data).toMatchObject({
        status: "exited",
        survivors: [{ pid: expect.any(Number), command: expect.any(String) }],
      });
      const ended = hear(product.api, id, { lastEventId: heard.at(-1)?.id ?? "" });
      await product.api.stop(id);
      expect((await ended).at(-1)?.event).toBe("end");
    });

    it("slowly holds up nobody, and loses nothing", async () => {
      const { id } = await start("read -r line; seq 1 1200000", { stdin: "pipe" });
      const slow = await open(id);
      await slow.until("start");
      await send(id, { text: "\n" });
      // Nothing is read while all of it is written: the reader's connection fills up.
      const { output } = await product.api.final(id);
      expect((await product.node("n1")).status).toBe("online");
      const rest = await slow.rest();
      const heard = rest.map(({ event = "", ...more }) => ({ ...more, event }));
      const bytes = bytesOf(heard);
      expect(bytes.length).toBe(output.totalBytes);
      expect(bytes.equals(await product.api.raw(id))).toBe(true);
      expect(heard.at(-1)?.event).toBe("end");
    });

    it("ends on the node when the reader leaves", async () => {
      const { played } = await playedNode(product, "left");
      const { id } = await product.api.start({ node: "left", command: "played" });
      await eventually(() => played.launches.length === 1);
      const told = (type: "follow" | "unfollow") =>
        played.told.flatMap((frame) => (frame.type === type ? [frame.follow] : []));
      const reader = await open(id);
      await reader.until("start");
      const reading = reader.until("output");
      await eventually(() => told("follow").length === 1);
      played.write(id, "some");
      expect((await reading).data.text).toBe("some");
      await reader.leave();
      // A runtime that is not told that a reader left finds out as it writes: this output, or else its second ping.
      await eventually(() => {
        played.write(id, "more");
        return told("unfollow").length === 1;
      });
      expect(told("unfollow")).toEqual(told("follow"));
      played.exit(id);
      expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 0 });
    });
  });
};
