import { describe, expect, it } from "vitest";
import { merged } from "../../../control-plane/actions/merged.ts";

async function* listed<T>(values: T[]): AsyncGenerator<T, void> {
  yield* values;
}

describe("several sources as one", () => {
  it("give every value, those of each source in its order", async () => {
    const seen = await Array.fromAsync(merged([listed([1, 2, 3]), listed([10, 20])]));
    expect(seen.filter((value) => value < 10)).toEqual([1, 2, 3]);
    expect(seen.filter((value) => value >= 10)).toEqual([10, 20]);
  });

  it("do not wait for the one that is silent, and end it when their reader leaves", async () => {
    const { promise: never, resolve } = Promise.withResolvers<void>();
    let ended = false;
    async function* silent(): AsyncGenerator<number, void> {
      try {
        await never;
        yield 0;
      } finally {
        ended = true;
      }
    }
    for await (const value of merged([silent(), listed([1])])) {
      expect(value).toBe(1);
      break;
    }
    resolve();
    await expect.poll(() => ended).toBe(true);
  });

  it("ask a source for its next value only when the last one was taken", async () => {
    let made = 0;
    async function* counting(): AsyncGenerator<number, void> {
      for (;;) yield ++made;
    }
    const both = merged([counting()]);
    await both.next();
    await both.next();
    expect(made).toBe(2);
    await both.return();
  });

  it("fail when one of them fails", async () => {
    async function* failing(): AsyncGenerator<number, void> {
      yield 1;
      throw new Error("gone");
    }
    await expect(Array.fromAsync(merged([failing()]))).rejects.toThrow("gone");
  });
});
