import { describe, expect, it } from "vitest";
import { bytesOf, hear } from "../../support/event-stream.ts";
import type { Product } from "../../support/product.ts";

const value = "correct-horse-battery";
const stars = "*".repeat(value.length);

/** What commands need and nobody may read. */
export const secrets = (product: Product): void => {
  const set = (body: object) => product.api.api("POST /v1/secrets", { body });

  describe("a named secret", () => {
    it("is stored, replaced, listed and deleted, and never answered", async () => {
      const answers = [
        await set({ name: "s1", value }),
        await set({ name: "s1", value }),
        await set({ name: "s2", value: "short" }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([201, 200, 400]);
      const listed = await product.api.get<{ data: { name: string }[] }>("GET /v1/secrets");
      expect(listed.data.map(({ name }) => name)).toEqual(["s1"]);
      expect(JSON.stringify([answers, listed])).not.toContain(value);
      expect((await product.api.api("DELETE /v1/secrets/s1")).status).toBe(204);
      expect((await product.api.api("DELETE /v1/secrets/s1")).status).toBe(404);
    });

    it("reaches the command and shows as stars to whoever reads what it writes", async () => {
      await set({ name: "token", value });
      const env = { TOKEN: { secret: "token" } };
      const command = `[ "$TOKEN" = ${value.slice(0, 7)}-horse-battery ] && echo "it is $TOKEN"`;
      const { id, result } = await product.api.exec({ node: "n1", command, env });
      expect(result.text).toBe(`it is ${stars}\n`);
      expect((await product.api.raw(id)).toString()).toBe(result.text);
      expect((await product.api.output(id, { view: "range", from: 8, to: 14 })).text).toBe("******");
      expect(bytesOf(await hear(product.api, id)).toString()).toBe(result.text);
      await product.api.api("DELETE /v1/secrets/token");
      expect(
        await product.api.api("POST /v1/processes", { body: { node: "n1", command, env } }),
      ).toMatchObject({
        status: 422,
        value: { code: "secret_not_found", field: "env.TOKEN" },
      });
    });

    it("is sealed anew when the secret key was replaced, as everything is that waits", async () => {
      expect(await product.api.get("POST /v1/secret-key/reseal")).toMatchObject({
        keyId: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
        unreadable: [],
      });
    });
  });
};
