import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useProduct } from "../support/product.ts";

const product = useProduct();
const otherKey = () => ({ DROVER_SECRET_KEY: randomBytes(32).toString("base64") });

describe("a control plane with another secret key than the one that lives on its database", () => {
  it("says so and does not start; once nobody else is there it does", async () => {
    await expect(product.anotherControlPlane(otherKey())).rejects.toThrow(
      /"code":2[^]*DROVER_SECRET_KEY is not that of/,
    );
    await product.controlPlane?.stop();
    await product.anotherControlPlane(otherKey());
  });
});
