import type { NodeLoad } from "#shared/api/node.ts";

/** What a node's row learns by the clock, between the coming and the going of its sessions. */
export interface Presence {
  /** Signs of many nodes in one statement; one of an older epoch changes nothing, a load or skew that is null leaves what was. */
  seen(signs: NodeSign[]): Promise<void>;
  /** Nodes that went without goodbye before this time count as offline now, which is told of once; returns their ids. */
  settleOffline(times: { before: Date; now: Date }): Promise<string[]>;
  /**
   * What was handed to nodes that went before this time and has not ended becomes lost/node_gone, at most `limit`; returns
   * its ids. A stop that was asked for stays, for the node that comes back.
   */
  loseOnGone(gone: { before: Date; now: Date; limit: number }): Promise<string[]>;
}

/** What the session of an epoch last heard of its node. */
export type NodeSign = {
  nodeId: string;
  epoch: number;
  lastSeenAt: Date;
  load: NodeLoad | null;
  clockSkewMs: number | null;
};
