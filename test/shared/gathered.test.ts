import { describe, expect, it } from "vitest";
import { gathered } from "#shared/gathered.ts";

/** Asks nobody: the test answers each batch by hand. */
function byHand(lanes: number, size: number) {
  const batches: { questions: number[]; answer: PromiseWithResolvers<number[]> }[] = [];
  const ask = gathered<number, number>({
    lanes,
    weigh: () => 1 / size,
    ask(questions) {
      const answer = Promise.withResolvers<number[]>();
      batches.push({ questions, answer });
      return answer.promise;
    },
  });
  const settle = (at: number): void => {
    const batch = batches[at];
    batch?.answer.resolve(batch.questions.map((question) => question * 10));
  };
  return { ask, batches, settle };
}

describe("questions that are gathered", () => {
  it("are asked at once while a lane is free, and together when none is", async () => {
    const { ask, batches, settle } = byHand(1, 10);
    const answers = Promise.all([1, 2, 3].map(ask));
    expect(batches.map(({ questions }) => questions)).toEqual([[1]]);
    settle(0);
    await expect.poll(() => batches.length).toBe(2);
    expect(batches[1]?.questions).toEqual([2, 3]);
    settle(1);
    expect(await answers).toEqual([10, 20, 30]);
  });

  it("go in batches no heavier than allowed, over as many lanes as there are", async () => {
    const { ask, batches, settle } = byHand(2, 2);
    const answers = Promise.all([1, 2, 3, 4, 5].map(ask));
    settle(0);
    await expect.poll(() => batches.length).toBe(3);
    expect(batches.map(({ questions }) => questions)).toEqual([[1], [2], [3, 4]]);
    settle(1);
    await expect.poll(() => batches.length).toBe(4);
    settle(2);
    settle(3);
    expect(await answers).toEqual([10, 20, 30, 40, 50]);
  });

  it("fail with their batch, and the next batch is asked all the same", async () => {
    const { ask, batches, settle } = byHand(1, 10);
    const first = ask(1);
    const second = ask(2);
    batches[0]?.answer.reject(new Error("away"));
    await expect(first).rejects.toThrow("away");
    await expect.poll(() => batches.length).toBe(2);
    settle(1);
    expect(await second).toBe(20);
  });
});
