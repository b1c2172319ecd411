import { pause } from "#shared/pause.ts";
import type { Log, Seal } from "../needs.ts";
import type { Leases } from "../store/cluster.ts";

/**
 * All control planes on one database need the same secret key: what one seals, another one opens. Those that live keep a lease
 * together, whose holder is the digest of the key they seal with; one that knows no such key may not join. While a key is being
 * replaced (docs/secrets.md) those that seal with the older one keep the lease under it, and who has both may join.
 */
export class SameKey {
  readonly #needs: { leases: Leases; seal: Seal; log: Log };

  constructor(needs: { leases: Leases; seal: Seal; log: Log }) {
    this.#needs = needs;
  }

  /** Whether nobody has another key; somebody who takes the lease at the same moment makes it look taken. */
  async holds(): Promise<boolean> {
    const { seal } = this.#needs;
    const holders = [await seal.digest(name), ...(await seal.olderDigests(name))];
    for (let tries = 0; tries < maxTries; tries++) {
      for (const holder of holders) if (await this.#take(holder)) return true;
      await pause(betweenMs);
    }
    return false;
  }

  /** Keeps the lease while this instance lives. */
  async keep(): Promise<void> {
    if (!(await this.#take(await this.#needs.seal.digest(name))))
      this.#needs.log.debug("secret_key.not_kept");
  }

  #take(holder: string): Promise<boolean> {
    return this.#needs.leases.take(name, holder, keptMs);
  }
}

/** What people can mend by a setting. */
export class OtherKeyError extends Error {
  override readonly name = "OtherKeyError";
  constructor() {
    super(
      "DROVER_SECRET_KEY is not that of the control planes that use this database already: give all of them the same one",
    );
  }
}

const name = "secret-key";
const keptMs = 15_000;
const maxTries = 5;
const betweenMs = 100;
