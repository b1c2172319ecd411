import { DroverError } from "#shared/errors.ts";
import type { Store } from "../../store/store.ts";
import { version } from "./version.ts";

/**
 * A deployment is two instances to the database: one that holds no node, which is every request and the hub, and one that holds
 * the nodes, which is all objects of nodes together. Neither beats: a timer would keep objects awake, and no object stands
 * for another. They live for ever, and whether a node's socket is there is asked of its object.
 */
export const requests = "worker_requests";
export const objects = "worker_objects";

let isKnown = false;

/** Looks at the schema and makes the two known, once for each isolate; a database that is not migrated is `unavailable`. */
export const beKnown = async (store: Store): Promise<void> => {
  if (isKnown) return;
  const state = await store.ready();
  if (!state.ready) throw new DroverError("unavailable", state.reason);
  await register(store);
  isKnown = true;
};

export const register = async ({ instances }: Pick<Store, "instances">): Promise<void> => {
  for (const id of [requests, objects])
    await instances.register({ id, place: "Cloudflare Workers", version, forever: true });
};
