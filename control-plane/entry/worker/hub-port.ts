import type { Topic } from "../../bus/bus.ts";

/** What the hub does for the requests and the other objects of a deployment. */
export interface HubPort {
  /** Tells whoever waits for one of these; `sender` is the node whose object publishes. */
  publish(topics: Topic[], sender?: string): Promise<void>;
  /** What is published of these topics from now on, a topic a line, until `hangUp`. An empty line says nothing. */
  listen(line: string, topics: Topic[]): Promise<ReadableStream<Uint8Array>>;
  /** The line also hears of these; false when the line is gone. */
  watch(line: string, topics: Topic[]): Promise<boolean>;
  unwatch(line: string, topics: Topic[]): Promise<void>;
  hangUp(line: string): Promise<void>;
  /** Does everything that is due. */
  tick(): Promise<void>;
}
