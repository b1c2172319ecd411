import type { LiveNode } from "./live-node.ts";
import type { Session } from "./session.ts";

export type Holder = { session: Session; node: LiveNode };

/** Which session holds which node, in this process: at most one a node. */
export class Holders {
  readonly #holders = new Map<string, Holder>();
  readonly #names = new Map<string, string>();
  readonly #admissions = new Map<string, Promise<unknown>>();

  of(nodeId: string): Holder | undefined {
    return this.#holders.get(nodeId);
  }

  /** The id of a node that is held, by its name. */
  named(name: string): string | undefined {
    const nodeId = this.#names.get(name);
    return nodeId !== undefined && this.#holders.get(nodeId)?.node.name === name ? nodeId : undefined;
  }

  /** A node that is held has this name now. */
  name(nodeId: string, name: string): void {
    this.#names.set(name, nodeId);
  }

  hold(holder: Holder): void {
    const { nodeId } = holder.session;
    this.#holders.set(nodeId, holder);
    this.name(nodeId, holder.node.name);
  }

  release(session: Session): void {
    const holder = this.#holders.get(session.nodeId);
    if (holder?.session !== session) return;
    this.#holders.delete(session.nodeId);
    this.#names.delete(holder.node.name);
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
