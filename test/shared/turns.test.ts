import { describe, expect, it } from "vitest";
import { turns } from "#shared/turns.ts";

describe("turns", () => {
  it("let so many begin at once and the others in their order, whether those before succeed or fail", async () => {
    const inTurn = turns(2);
    const begun: number[] = [];
    const works = [0, 1, 2, 3].map(() => Promise.withResolvers<string>());
    const answers = works.map(({ promise }, at) => inTurn(() => (begun.push(at), promise)));
    expect(begun).toEqual([0, 1]);
    works[1]?.reject(new Error("failed"));
    await expect(answers[1]).rejects.toThrow("failed");
    await expect.poll(() => begun).toEqual([0, 1, 2]);
    works[2]?.resolve("two");
    expect(await answers[2]).toBe("two");
    await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
    works[0]?.resolve("zero");
    works[3]?.resolve("three");
    expect(await Promise.all([answers[0], answers[3]])).toEqual(["zero", "three"]);
  });
});
