import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";

const pageSize = 500;

/** Every node, newest first, after the id `after`. */
export async function* allNodes({ store }: Needs, after?: string): AsyncGenerator<NodeRow, void> {
  for (let at = after; ;) {
    const page = await store.nodes.list({ limit: pageSize, after: at });
    yield* page;
    if (page.length < pageSize) return;
    at = page.at(-1)?.id;
  }
}
