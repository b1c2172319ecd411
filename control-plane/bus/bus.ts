/**
 * "Something changed, look": topics carry no payload, may be dropped, doubled or reordered.
 * A subscriber looks at the store after each notice, and once after subscribing.
 */
export interface Bus {
  publish(topic: Topic): void;
  /** Calls `look` after each change of the topic until the returned function is called. */
  subscribe(topic: Topic, look: () => void): () => void;
}

/** `events`: something was appended to the store's events. */
export type Topic =
  | `process:${string}`
  | `node:${string}`
  | `fanout:${string}`
  | `token:${string}`
  | `session:${string}`
  | `letters:${string}`
  | "instances"
  | "events";

/** The bus of one process, whose subscribers can all be told to look: after a gap nobody knows what changed. */
export interface LocalBus extends Bus {
  publishAll(): void;
}
