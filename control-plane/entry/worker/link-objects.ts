import { newId } from "#shared/ids.ts";
import type { Elsewhere } from "../../link/elsewhere.ts";
import type { Log, OutputChunk, RequestOutcome } from "../../needs.ts";
import type { Store } from "../../store/store.ts";
import { chunksOf } from "./chunk-stream.ts";
import { requests } from "./instances.ts";
import type { LinkPort } from "./link-port.ts";

/**
 * Nodes by way of the objects that have their sockets. A call that fails (the object was moved, the deployment replaced) may have
 * been heard: what was asked is unknown then, and a follower goes on from where it was. `keep` lets a call outlive the
 * answer of the request that made it.
 */
export type LinkObjectsNeeds = {
  linkOf(nodeId: string): LinkPort;
  store: Pick<Store, "nodes">;
  log: Log;
  keep(work: Promise<unknown>): void;
};

export const linkObjects = ({ linkOf, store, log, keep }: LinkObjectsNeeds): Elsewhere => {
  const hangUp = (nodeId: string, talk: string): void =>
    // Where it does not arrive, the object's next write to nobody tells it.
    keep(
      linkOf(nodeId)
        .hangUp(talk)
        .catch((error: unknown) => log.debug("link.not_hung_up", { error })),
    );
  return {
    held: async (nodeIds) => new Set(await store.nodes.heldElsewhere(nodeIds, requests)),
    push: (nodeId, frame) => kept(keep, linkOf(nodeId).push(nodeId, frame)),
    dispatch: (nodeId, start) => kept(keep, linkOf(nodeId).dispatch(nodeId, start)),
    answersProbe: (nodeId) => linkOf(nodeId).answersProbe(nodeId),
    async request(nodeId, frame, { timeoutMs, signal }): Promise<RequestOutcome> {
      const talk = newId("req");
      const left = Promise.withResolvers<RequestOutcome>();
      const leave = (): void => {
        hangUp(nodeId, talk);
        left.resolve({ outcome: "no_answer" });
      };
      signal?.addEventListener("abort", leave);
      try {
        const answer = linkOf(nodeId).ask(nodeId, frame, { talk, timeoutMs });
        return await Promise.race([
          answer.catch((error: unknown) => unknown(log, nodeId, error)),
          left.promise,
        ]);
      } finally {
        signal?.removeEventListener("abort", leave);
      }
    },
    async *follow(nodeId, what, signal): AsyncGenerator<OutputChunk, void> {
      const talk = newId("req");
      const stream = await linkOf(nodeId)
        .follow(nodeId, what, talk)
        .catch(() => undefined);
      if (stream === undefined) return;
      const reader = stream.getReader();
      // All that has to be done when the reader leaves is done here: where a client went, nothing after the next await runs.
      const leave = (): void => {
        hangUp(nodeId, talk);
        keep(reader.cancel().catch(() => {}));
      };
      signal.addEventListener("abort", leave);
      if (signal.aborted) leave();
      try {
        yield* chunksOf(reader);
      } finally {
        signal.removeEventListener("abort", leave);
        if (!signal.aborted) leave();
      }
    },
  };
};

const kept = <T>(keep: (work: Promise<unknown>) => void, work: Promise<T>): Promise<T> => {
  keep(work.catch(() => {}));
  return work;
};

const unknown = (log: Log, nodeId: string, error: unknown): RequestOutcome => {
  log.warn("link.object_failed", { nodeId, error });
  return { outcome: "no_answer" };
};
