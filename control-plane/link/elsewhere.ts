import type { StreamName } from "#shared/streams.ts";
import type { PlainFrame } from "#shared/link/frames.ts";
import type { OutputChunk, RequestOutcome, RequestWithoutId } from "../needs.ts";
import type { HandOut } from "../store/store.ts";

export type FollowedStream = { id: string; stream: StreamName; from: number };
export type RequestLimit = { timeoutMs: number; signal?: AbortSignal | undefined };

/** The nodes whose sockets other instances have. */
export interface Elsewhere {
  /** Of these nodes, those that another instance holds. */
  held(nodeIds: string[]): Promise<Set<string>>;
  push(nodeId: string, frame: PlainFrame): Promise<boolean>;
  /** Gives the holder a start to send, or lets it look at the node's queue; false when there is no holder. */
  dispatch(nodeId: string, start?: HandOut): Promise<boolean>;
  request(nodeId: string, frame: RequestWithoutId, limit: RequestLimit): Promise<RequestOutcome>;
  follow(nodeId: string, what: FollowedStream, signal: AbortSignal): AsyncIterable<OutputChunk>;
  /** Whether the agent whose socket is there answers a probe. */
  answersProbe(nodeId: string, timeoutMs: number): Promise<boolean>;
}

/** There is no other instance. */
export const nowhereElse: Elsewhere = {
  held: () => Promise.resolve(new Set()),
  push: () => Promise.resolve(false),
  dispatch: () => Promise.resolve(false),
  request: () => Promise.resolve({ outcome: "offline" }),
  // oxlint-disable-next-line require-yield
  follow: async function* () {},
  answersProbe: () => Promise.resolve(false),
};
