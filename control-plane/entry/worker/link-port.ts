import type { PlainFrame } from "#shared/link/frames.ts";
import type { FollowedStream } from "../../link/elsewhere.ts";
import type { HandOut } from "../../store/store.ts";
import type { RequestOutcome, RequestWithoutId } from "../../needs.ts";

/** What the object of a node does for requests. Each names the node; `talk` names one conversation, for `hangUp`. */
export interface LinkPort {
  /** False when no socket is there. */
  push(nodeId: string, frame: PlainFrame): Promise<boolean>;
  /** Gives the object a start to send, or lets it look at the node's queue; false when no socket is there. */
  dispatch(nodeId: string, start?: HandOut): Promise<boolean>;
  ask(
    nodeId: string,
    frame: RequestWithoutId,
    limit: { talk: string; timeoutMs: number },
  ): Promise<RequestOutcome>;
  /** Chunks as `chunk-stream.ts` writes them; undefined when no socket is there. */
  follow(nodeId: string, what: FollowedStream, talk: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /** Nobody waits for the answer, or follows, any more. */
  hangUp(talk: string): Promise<void>;
  answersProbe(nodeId: string): Promise<boolean>;
  /** Something changed about the node's row, or nothing was heard of the node: the object looks at its row and at its socket. */
  look(nodeId: string): Promise<void>;
  /** Ends starts of the node that were not confirmed in time. */
  fence(nodeId: string): Promise<void>;
}
