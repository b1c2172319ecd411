import { describe, expect, it } from "vitest";
import { useProduct } from "../support/product.ts";
import { runtime } from "./chosen-runtime.ts";

const product = useProduct({ runtime, agents: ["n1"] });

describe("a control plane", () => {
  it("runs a command on a node", async () => {
    expect(await product.api.exec({ node: "n1", command: "echo hi" })).toMatchObject({ exitCode: 0 });
  });
});
