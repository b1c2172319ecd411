/** The socket of one agent as a runtime's entry gives it to the link. */
export interface AgentSocket {
  send(text: string): void;
  /** Begins the closing handshake; `reason` has at most 123 bytes. */
  close(code: number, reason: string): void;
  /** Drops the connection without a word: the far end may be gone. */
  terminate(): void;
  /**
   * From now on the session can be resumed out of this and the database, should the runtime take its memory while the
   * socket stays (see `Link.resume`). Runtimes that never do leave it out.
   */
  keep?(kept: KeptSession): void;
  /** When the runtime last answered a ping by itself, of which the session hears nothing; runtimes that never do leave it out. */
  readonly answeredAt?: Date | null;
  /** Bytes that were sent and not yet taken by the network. */
  readonly bufferedAmount: number;
}

/** What the database does not know of a session. */
export type KeptSession = { epoch: number; instanceId: string; echoes: boolean };

/** What the entry tells the link of that socket; calls after `onClose` change nothing. */
export interface SocketEvents {
  onText(text: string): void;
  /** The agent link has no binary frames yet: one closes its connection. */
  onBinary(): void;
  onClose(): void;
}
