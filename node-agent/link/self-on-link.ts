import type { EngineAnswer } from "../engine.ts";

/** Who the link speaks for, and what it hears of that. */
export interface SelfOnLink {
  readonly nodeId: string;
  readonly url: string;
  /** The keys it may be known by, the newest first. */
  readonly keys: readonly string[];
  /** What the node is called, and the hash of the key that is in force. */
  welcomed(welcome: { nodeName: string; keyHash?: string | undefined }): void;
  /** Makes the key that follows the one of this hash; answers its hash. */
  rotateKey(inForce: string): EngineAnswer;
}
