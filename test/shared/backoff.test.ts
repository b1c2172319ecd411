import { expect, test } from "vitest";
import { backoffMs } from "#shared/backoff.ts";

test("the longest wait doubles from 250 ms and stops at 30 s", () => {
  const most = (attempt: number): number => backoffMs(attempt, () => 1 - 2 ** -53);
  expect([0, 1, 2, 6, 7, 5000].map(most)).toEqual([249, 499, 999, 15_999, 29_999, 29_999]);
});

test("the wait is anywhere below that, down to none", () => {
  expect(backoffMs(3, () => 0)).toBe(0);
  expect(backoffMs(3, () => 0.5)).toBe(1000);
  expect(backoffMs(-1, () => 0.5)).toBe(125);
});

test("other bounds hold instead", () => {
  expect(backoffMs(9, () => 0.5, { baseMs: 10, maxMs: 100 })).toBe(50);
});
