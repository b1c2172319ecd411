import { expect, it } from "vitest";
import { oneAtATime } from "../../../control-plane/link/one-at-a-time.ts";

it("runs one after the other; those who ask during a run share the next, which begins after they asked", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const began: number[] = [];
  const run = oneAtATime();
  const work = async (): Promise<void> => {
    began.push(began.length);
    await gates[began.length - 1]?.promise;
  };
  const first = run(work);
  const [second, third] = [run(work), run(work)];
  expect(began).toEqual([0]);
  gates[0]?.resolve();
  await first;
  gates[1]?.resolve();
  await Promise.all([second, third]);
  expect(began).toEqual([0, 1]);
});

it("runs the next one though the one before failed", async () => {
  const run = oneAtATime();
  const failing = run(() => Promise.reject(new Error("away")));
  const next = run(async () => {});
  await expect(failing).rejects.toThrow("away");
  await expect(next).resolves.toBeUndefined();
});
