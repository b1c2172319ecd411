import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ExecView } from "../../support/api.ts";
import { bytesOf, hear } from "../../support/event-stream.ts";
import type { Product } from "../../support/product.ts";

type Matches = { matches: { text: string; before: string[]; after: string[] }[]; next: number };

/** What a process wrote, as it is read. */
export const output = (product: Product): void => {
  const exec = (command: string, more: Record<string, unknown> = {}): Promise<ExecView> =>
    product.api.exec({ node: "n1", cwd: product.folder, command, ...more });
  const read = (id: string, query: Record<string, string | number>) =>
    product.api.api(`GET /v1/processes/${id}/output`, { query });

  describe("output", () => {
    it("of many megabytes is read and followed byte for byte", async () => {
      const { id, output: counted } = await exec("head -c 6000000 /dev/urandom | tee random");
      const bytes = readFileSync(join(product.folder, "random"));
      expect(counted).toMatchObject({ totalBytes: 6_000_000, omittedBytes: 0 });
      expect((await product.api.raw(id)).equals(bytes)).toBe(true);
      expect(bytesOf(await hear(product.api, id)).equals(bytes)).toBe(true);
      const from = 3_000_001;
      const part = await product.api.raw(id, { from, to: from + 70_000 });
      expect(part.equals(bytes.subarray(from, from + 70_000))).toBe(true);
      expect((await product.api.raw(id, { view: "tail", tailBytes: 5 })).equals(bytes.subarray(-5))).toBe(
        true,
      );
      const tail = await hear(product.api, id, { from: 5_900_000 });
      expect(bytesOf(tail, { from: 5_900_000 }).equals(bytes.subarray(5_900_000))).toBe(true);
    });

    it("is cut on code points, with exact counts, in head and tail and in ranges", async () => {
      const { id, result } = await exec("i=0; while [ $i -lt 20000 ]; do printf '€'; i=$((i+1)); done");
      const { text, truncated } = result;
      expect(text).toMatch(/^€+$/);
      expect(truncated).toMatchObject({ originalBytes: 60_000, retainedBytes: Buffer.byteLength(text) });
      let joined = "";
      for (let from = 0; from < 60_000;) {
        const part = await product.api.output(id, { view: "range", from, to: from + 25_000 });
        expect(part.next).toBeGreaterThan(from);
        joined += part.text;
        from = part.next;
      }
      expect(joined).toBe("€".repeat(20_000));
      expect(await read(id, { view: "range", from: 60_001 })).toMatchObject({
        status: 416,
        value: { code: "range_not_satisfiable" },
      });
      expect(await read(id, { view: "range", from: 60_000 })).toMatchObject({
        status: 200,
        value: { text: "", from: 60_000, next: 60_000 },
      });
    });

    it("is shown by its head, its tail, its lines that match, as text and without colours", async () => {
      const { id } = await exec("seq 1 30000; printf '\\033[31mred\\033[0m\\n'");
      expect((await product.api.output(id, { view: "head", headBytes: 4 })).text).toBe("1\n2\n");
      expect((await product.api.output(id, { view: "tail", lines: 2, ansi: "strip" })).text).toBe(
        "30000\nred\n",
      );
      const found = await product.api.output<Matches>(id, { grep: "12345", context: 1 });
      expect(found.matches).toMatchObject([{ text: "12345", before: ["12344"], after: ["12346"] }]);
      const regex = await product.api.output<Matches>(id, { grep: "^2999[89]$", regex: true });
      expect(regex.matches.map(({ text }) => text)).toEqual(["29998", "29999"]);
      const plain = await product.api.fetch(`GET /v1/processes/${id}/output`, {
        query: { view: "tail", lines: 1, format: "text", ansi: "strip" },
      });
      expect(plain.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await plain.text()).toBe("red\n");
      const wrong: Record<string, string | number>[] = [
        { grep: "(", regex: "true" },
        { grep: "" },
        { view: "head", from: 1 },
        { from: 2, to: 1 },
      ];
      for (const query of wrong)
        expect({ query, ...(await read(id, query)) }).toMatchObject({ query, status: 400 });
    });

    it("that is kept only in part says so, with its gap where it is followed", async () => {
      const { id, output: counted } = await exec("yes 0123456 | head -c 2000000; printf END", {
        limits: { logBytes: 65_536 },
      });
      expect(counted.totalBytes).toBe(2_000_003);
      expect(counted.omittedBytes).toBeGreaterThan(1_000_000);
      const raw = await product.api.raw(id);
      expect(raw.length).toBe(counted.totalBytes - counted.omittedBytes);
      expect(raw.toString("latin1")).toMatch(/^0123456\n[^]*END$/);
      let at = 0;
      for (const { event, data } of await hear(product.api, id)) {
        if (event !== "output" && event !== "gap") continue;
        expect(data["from"]).toBe(at);
        at = Number(data["to"]);
      }
      expect(at).toBe(2_000_003);
    });
  });
};
