import { pause } from "#shared/pause.ts";
import { membersOf, type Tree } from "./tree.ts";

/** What children of the leader write is waited for until it was quiet this long, and at most `settleMs`. */
const quietMs = 300;
const settleMs = 3000;
const lookEveryMs = 25;

/** Waits after the leader until nobody of its tree is left or those who are have fallen silent; a kill under way is waited out. */
export const settled = async (
  tree: Tree,
  what: { size(): number; killing(): Promise<void> | undefined; life: AbortSignal },
): Promise<void> => {
  const began = performance.now();
  let quiet = { size: what.size(), since: began };
  while (!what.life.aborted && membersOf(tree).length > 0) {
    const now = performance.now();
    const size = what.size();
    if (size !== quiet.size) quiet = { size, since: now };
    if (!what.killing() && (now - quiet.since >= quietMs || now - began >= settleMs)) return;
    await pause(lookEveryMs, what.life);
  }
  await what.killing();
};
