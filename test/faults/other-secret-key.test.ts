import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import type { Api } from "../support/api.ts";
import { useProduct } from "../support/product.ts";

const otherKey = () => ({ DROVER_SECRET_KEY: randomBytes(32).toString("base64") });

describe("a control plane with another secret key than the one that lives on its database", () => {
  const product = useProduct();

  it("says so and does not start; once nobody else is there it does", async () => {
    await expect(product.anotherControlPlane(otherKey())).rejects.toThrow(
      /"code":2[^]*DROVER_SECRET_KEY is not that of/,
    );
    await product.controlPlane?.stop();
    await product.anotherControlPlane(otherKey());
  });
});

describe("a secret key that is replaced while several control planes use it", () => {
  const product = useProduct();

  it("goes to all of them behind the former one, then before it, then alone, and nothing is lost", async () => {
    const [former, next] = [product.secretKey, randomBytes(32).toString("base64")];
    const withKeys = (...keys: string[]) =>
      product.anotherControlPlane({ DROVER_SECRET_KEY: keys.join(",") });
    const body = { name: "token", value: "correct-horse-battery" };
    const started = (api: Api) =>
      api.api("POST /v1/processes", {
        body: { node: "n9", command: "true", env: { A: { secret: "token" } }, ifOffline: "queue" },
      });
    const one = await withKeys(former, next);
    await product.controlPlane?.stop();
    await one.api.get("POST /v1/secrets", { body });
    const two = await withKeys(next, former);
    await one.daemon.end("SIGTERM");
    const three = await withKeys(next, former);
    expect(await three.api.get("POST /v1/secret-key/reseal", { body: { cursor: "secrets/" } })).toMatchObject(
      {
        resealed: 1,
        unreadable: [],
      },
    );
    await three.daemon.end("SIGTERM");
    // Who knows only the next one may join when nobody seals with the former one any more.
    const alone = await vi.waitFor(() => withKeys(next), { timeout: 60_000, interval: 500 });
    await two.daemon.end("SIGTERM");
    // There is no such node; secrets are looked at before it is.
    expect(await started(alone.api)).toMatchObject({ status: 404 });
    await alone.daemon.end("SIGTERM");
    const back = await withKeys(former);
    expect(await started(back.api)).toMatchObject({ status: 422, value: { code: "secret_unreadable" } });
  }, 180_000);
});
