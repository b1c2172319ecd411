// What control planes that share a database remember of each other.

/** A letter between instances; which kinds there are is the matter of cluster/letter.ts. */
export type Letter = { sender: string; body: string };

export interface Instances {
  /** This control plane is there from now on; `forever`: it never has to say again that it lives. */
  register(instance: { id: string; place: string; version: string; forever?: boolean }): Promise<void>;
  /** It still is: the ids of all that are, itself included; undefined when it was taken for dead meanwhile. */
  beat(id: string): Promise<string[] | undefined>;
  /** The time of the database. */
  time(): Promise<Date>;
  /**
   * Forgets the instances that were not seen for a while (by the clock of the database) and frees the nodes they held, and
   * those of nobody; returns both.
   */
  bury(): Promise<{ instances: string[]; nodes: string[] }>;
  /** Forgets one instance, or all but one, and frees their nodes; returns these. */
  remove(which: { only: string } | { allBut: string }): Promise<string[]>;
}

/** Letters wait in a table that a crash of the database empties: they are hints, or somebody waits for an answer with a limit. */
export interface Letters {
  /** Sends in this order, and tells the recipients. */
  send(sender: string, letters: { recipient: string; body: string }[]): Promise<void>;
  /** Sends to whichever other instance holds the node; undefined when none does. */
  sendToHolder(sender: string, letter: { nodeId: string; body: string }): Promise<string | undefined>;
  /** Takes the oldest letters to this instance, at most `limit`; those that nobody waits for any more are dropped. */
  take(recipient: string, limit: number): Promise<{ letters: Letter[]; more: boolean }>;
}

/** "Something changed, look" between instances: topics only. */
export interface Notices {
  send(sender: string, topics: string[]): Promise<void>;
  /** Calls until closed; `onListening` after every gap in which notices may have been lost, the first start included. */
  listen(listener: {
    onTopics(sender: string, topics: string[]): void;
    onListening(): void;
    onFailure(error: unknown): void;
  }): {
    close(): Promise<void>;
  };
}

export interface Leases {
  /** Takes or keeps the lease; false while another holder has it. */
  take(name: string, holder: string, ttlMs: number): Promise<boolean>;
}
