import type { DataFolder } from "./data-folder.ts";
import type { EngineAnswer } from "./engine.ts";
import { keyHash, keysOf, newKey, storeIdentity, type Identity } from "./identity.ts";
import type { SelfOnLink } from "./link/self-on-link.ts";
import { reasonOf, type AgentLog } from "./log.ts";

/**
 * Who this agent is, as it changes while it lives: its name and its keys, on disk before they count.
 *
 * There is one key, or there are two: `key`, and `nextKey` that was made to replace it. When the control plane took the new
 * one is not known here until it says so, with the hash of the key in force: in a welcome (from then on it takes no key that
 * was made before) and in a wish for the next key. Only then the other key goes; a next key that was answered once is
 * answered again until it is in force. So whatever dies when, the key that counts is on this disk.
 */
export class Self implements SelfOnLink {
  readonly #folder: DataFolder;
  readonly #log: AgentLog;
  #identity: Identity;

  constructor(folder: DataFolder, identity: Identity, log: AgentLog) {
    this.#folder = folder;
    this.#identity = identity;
    this.#log = log;
    for (const key of this.keys) log.hide(key);
  }

  get nodeId(): string {
    return this.#identity.nodeId;
  }

  get url(): string {
    return this.#identity.url;
  }

  get name(): string {
    return this.#identity.name;
  }

  get keys(): string[] {
    return keysOf(this.#identity);
  }

  rotateKey(inForce: string): EngineAnswer {
    const { key, nextKey, ...rest } = this.#identity;
    if (nextKey !== undefined && keyHash(key) === inForce) return { value: { keyHash: keyHash(nextKey) } };
    const current = this.#keyOf(inForce);
    if (current === undefined)
      return { error: { code: "conflict", message: "the key in force is none of this agent's" } };
    const made = newKey();
    this.#log.hide(made);
    this.#become({ ...rest, key: current, nextKey: made });
    return { value: { keyHash: keyHash(made) } };
  }

  welcomed({ nodeName, keyHash: inForce }: { nodeName: string; keyHash?: string | undefined }): void {
    const { key, nextKey, ...rest } = this.#identity;
    const current = inForce === undefined ? undefined : this.#keyOf(inForce);
    const keys = current === undefined ? { key, nextKey } : { key: current };
    if (nodeName === rest.name && keys.nextKey === nextKey) return;
    try {
      this.#become({ ...rest, ...keys, name: nodeName });
    } catch (error) {
      // The next welcome tries again; until then it is known by the same keys as before.
      this.#identity = { ...this.#identity, name: nodeName };
      this.#log.warn("identity.not_stored", { error: reasonOf(error) });
    }
  }

  #keyOf(hash: string): string | undefined {
    return this.keys.find((key) => keyHash(key) === hash);
  }

  #become(identity: Identity): void {
    storeIdentity(this.#folder, identity);
    this.#identity = identity;
  }
}
