import { endTree, killTree, signalOne } from "./kill.ts";
import { pause } from "#shared/pause.ts";
import type { Tree } from "./tree.ts";

const lookEveryMs = 10;
const wrapperAloneMs = 5000;

/** What ending a tree needs to know of the life it ends. */
export type KillHooks = { look(): void; leaderGone(): boolean; ended(): void; life: AbortSignal };

/** One ending of a tree at a time: a second call joins the first and can only shorten its grace. */
export class TreeKiller {
  #tree: Tree;
  #hooks: KillHooks;
  #hurry = new AbortController();
  #work: Promise<void> | undefined;

  constructor(tree: Tree, hooks: KillHooks) {
    this.#tree = tree;
    this.#hooks = hooks;
  }

  /** Settles when the ending under way is over; undefined while there is none. */
  get work(): Promise<void> | undefined {
    return this.#work;
  }

  /** TERM, grace, KILL, until the leader is gone and nobody is left. */
  end(graceMs: number): void {
    const hurry = this.#hurry;
    void pause(graceMs, this.#hooks.life).then(() => this.#hooks.life.aborted || hurry.abort());
    this.#begin(() => this.#endAll(graceMs));
  }

  /** KILL at once to whoever is left. */
  sweep(): void {
    this.#begin(async () => void (await killTree(this.#tree)));
  }

  #begin(work: () => Promise<void>): void {
    this.#work ??= work().finally(() => {
      this.#work = undefined;
      this.#hurry = new AbortController();
      this.#hooks.ended();
    });
  }

  /**
   * A wrapper that has not forked its child yet has no members: look again until the leader is gone. A wrapper that stays
   * without members has lost its way; it is ended too, and the intent says what became of the command.
   */
  async #endAll(graceMs: number): Promise<void> {
    const { life } = this.#hooks;
    const until = performance.now() + graceMs;
    let aloneSince: number | undefined;
    for (;;) {
      const ms = Math.max(0, until - performance.now());
      const left = await endTree(this.#tree, { ms, hurry: this.#hurry.signal, life });
      this.#hooks.look();
      if (left.length > 0 || this.#hooks.leaderGone() || life.aborted) return;
      aloneSince ??= performance.now();
      if (performance.now() - aloneSince > wrapperAloneMs) this.#endWrapper();
      await pause(lookEveryMs, life);
    }
  }

  #endWrapper(): void {
    if (this.#tree.wrapper) signalOne(this.#tree.wrapper, "SIGKILL");
  }
}
