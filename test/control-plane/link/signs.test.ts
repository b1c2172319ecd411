import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Signs } from "../../../control-plane/link/signs.ts";
import type { NodeSign } from "../../../control-plane/store/store.ts";

const everyMs = 30_000;
const sign = (nodeId: string, atMs = 0): NodeSign => ({
  nodeId,
  epoch: 1,
  lastSeenAt: new Date(atMs),
  load: null,
  clockSkewMs: null,
});

describe("the book of signs", () => {
  let written: NodeSign[][];
  let failures: unknown[];
  let away: boolean;
  let signs: Signs;
  beforeEach(() => {
    vi.useFakeTimers();
    [written, failures, away] = [[], [], false];
    signs = new Signs({
      write: async (all) => {
        if (away) {
          signs.note(sign("b", 2));
          throw new Error("the database is away");
        }
        written.push(all);
      },
      everyMs,
      onFailure: (error) => void failures.push(error),
    });
  });
  afterEach(() => vi.useRealTimers());

  it("is written by one statement for all nodes, the newest of each, and only what was heard since", async () => {
    for (const at of [1, 2]) for (const id of ["a", "b"]) signs.note(sign(id, at));
    await vi.advanceTimersByTimeAsync(everyMs - 1);
    expect(written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    signs.note(sign("b", 3));
    await vi.advanceTimersByTimeAsync(10 * everyMs);
    expect(written).toEqual([[sign("a", 2), sign("b", 2)], [sign("b", 3)]]);
  });

  it("is written in pieces of a thousand", async () => {
    for (let n = 0; n < 2500; n += 1) signs.note(sign(`n${n}`));
    await vi.advanceTimersByTimeAsync(everyMs);
    expect(written.map(({ length }) => length)).toEqual([1000, 1000, 500]);
  });

  it("is written soon when a node is new to it", async () => {
    signs.note(sign("a", 1));
    signs.note(sign("b", 1), { soon: true });
    signs.note(sign("a", 2));
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toEqual([[sign("a", 2), sign("b", 1)]]);
  });

  it("keeps what could not be written for the next time, unless something newer came", async () => {
    away = true;
    for (const id of ["a", "b"]) signs.note(sign(id, 1));
    await vi.advanceTimersByTimeAsync(everyMs);
    away = false;
    await vi.advanceTimersByTimeAsync(everyMs);
    expect(failures).toHaveLength(1);
    expect(written).toEqual([[sign("b", 2), sign("a", 1)]]);
  });

  it("is written when it closes, and not again", async () => {
    signs.note(sign("a"));
    await signs.close();
    expect(written).toEqual([[sign("a")]]);
    away = true;
    signs.note(sign("a"));
    await signs.close();
    expect([failures.length, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
