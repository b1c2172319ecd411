import { describe, expect, it, vi } from "vitest";
import { RestingStore } from "../../../../control-plane/entry/worker/resting-store.ts";
import type { Store } from "../../../../control-plane/store/store.ts";

describe("a store that is open only while it is asked", () => {
  const opening = (before: (store: Store) => Promise<void> = () => Promise.resolve()) => {
    const closed = vi.fn<() => void>();
    const answers = Promise.withResolvers<number>();
    const open = vi.fn<() => Store>(
      () =>
        ({
          processes: { countQueued: () => answers.promise },
          ready: () => Promise.resolve({ ready: true }),
          close: () => Promise.resolve(closed()),
        }) as unknown as Store,
    );
    const resting = new RestingStore(open, { before, lingerMs: 1 });
    // Once to see its verbs.
    open.mockClear();
    return { resting, open, closed, answers };
  };

  it("opens with a question, and is settled when the last one is answered and it is closed", async () => {
    const { resting, open, closed, answers } = opening();
    await resting.settled();
    expect(open).not.toHaveBeenCalled();
    const [one, other] = [resting.store.processes.countQueued(), resting.store.processes.countQueued()];
    const settled = vi.fn<() => void>();
    const over = resting.settled().then(settled);
    expect(await resting.store.ready()).toEqual({ ready: true });
    expect(open).toHaveBeenCalledTimes(1);
    expect(settled).not.toHaveBeenCalled();
    answers.resolve(3);
    expect(await Promise.all([one, other])).toEqual([3, 3]);
    await over;
    expect(closed).toHaveBeenCalledTimes(1);
  });

  it("opens anew after it was closed", async () => {
    const { resting, open } = opening();
    await resting.store.ready();
    await resting.settled();
    await resting.store.ready();
    await resting.settled();
    expect(open).toHaveBeenCalledTimes(2);
  });

  it("asks nothing where what has to be true before is not", async () => {
    const { resting, answers } = opening(() => Promise.reject(new Error("not migrated")));
    answers.resolve(1);
    await expect(resting.store.processes.countQueued()).rejects.toThrow("not migrated");
    await resting.settled();
  });
});
