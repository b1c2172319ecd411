import { afterAll, beforeAll } from "vitest";
import type { FarEnd } from "../link/far-end.ts";
import { openRigs } from "../link/rig.ts";

type Two = Awaited<ReturnType<typeof openRigs>> & {
  nodeId: string;
  /** The agent of the node, whose socket is at A; the tests ask B. */
  agent: FarEnd;
};

/** Two control planes on one database for all tests of a block, filled in before they begin. */
export function useTwoControlPlanes(): Two {
  const two = {} as Two;
  beforeAll(async () => {
    Object.assign(two, await openRigs());
    two.nodeId = (await two.a.node()).id;
    two.agent = await two.a.online(two.nodeId);
  });
  afterAll(() => two.close());
  return two;
}
