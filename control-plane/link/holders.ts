import type { Alive } from "./alive.ts";
import type { LiveNode } from "./live-node.ts";
import type { Session } from "./session.ts";

export type Holder = { session: Session; node: LiveNode };

/** Which session holds which node, in this process: at most one a node. */
export class Holders {
  readonly #holders = new Map<string, Holder>();
  /** What the last session of a node that is away knew: a start that was confirmed stays so until the next hello. */
  readonly #last = new Map<string, Alive>();
  readonly #admissions = new Map<string, Promise<unknown>>();

  of(nodeId: string): Holder | undefined {
    return this.#holders.get(nodeId);
  }

  aliveOn(nodeId: string): Alive | undefined {
    return this.#holders.get(nodeId)?.node.alive ?? this.#last.get(nodeId);
  }

  hold(holder: Holder): void {
    this.#last.delete(holder.session.nodeId);
    this.#holders.set(holder.session.nodeId, holder);
  }

  release(session: Session): void {
    const holder = this.#holders.get(session.nodeId);
    if (holder?.session !== session) return;
    this.#holders.delete(session.nodeId);
    this.#last.set(session.nodeId, holder.node.alive);
  }

  /** Admits sessions of one node one after the other. */
  async inTurn<T>(nodeId: string, admit: () => Promise<T>): Promise<T> {
    const before = this.#admissions.get(nodeId) ?? Promise.resolve();
    const own = before.then(admit, admit);
    this.#admissions.set(nodeId, own);
    try {
      return await own;
    } finally {
      if (this.#admissions.get(nodeId) === own) this.#admissions.delete(nodeId);
    }
  }
}
