import { toBase64 } from "#shared/base64.ts";
import { windowBytes } from "#shared/link/limits.ts";
import type { Log, RequestOutcome, Seal } from "../needs.ts";
import type { OwnNodes } from "../link/own-nodes.ts";
import type { HandOut } from "../store/store.ts";
import type { LetterBody, LetterOf } from "./letter.ts";
import type { Post } from "./post.ts";
import { openedFrame } from "./sealed-stdin.ts";
import { Window } from "./window.ts";

/**
 * What this instance does for others whose requests are about a node that it holds: it asks the node as if the request had come here
 * and writes the answer back. A follower gets at most a window of bytes ahead of what it took.
 */
export type ServedNeeds = {
  post: Post;
  nodes: OwnNodes;
  log: Log;
  seal: Seal;
  /** Sends a start that was given, or what is queued. */
  dispatch(nodeId: string, given?: HandOut): Promise<void>;
};

type Service = { sender: string; hungUp: AbortController; window?: Window };

export class Served {
  readonly #needs: ServedNeeds;
  readonly #open = new Map<string, Service>();

  constructor(needs: ServedNeeds) {
    this.#needs = needs;
  }

  hear(sender: string, body: LetterBody): void {
    const { nodes, dispatch } = this.#needs;
    switch (body.kind) {
      case "push":
        nodes.push(body.nodeId, body.frame);
        return;
      case "dispatch":
        return this.#inBackground(dispatch(body.nodeId, given(body)));
      case "ask":
        return this.#serve(sender, body.talk, (service) => this.#ask(body, service));
      case "probe":
        return this.#serve(sender, body.talk, async () => {
          await this.#answer(sender, body.talk, await nodes.answersProbe(body.nodeId));
        });
      case "follow":
        return this.#serve(sender, body.talk, (service) => this.#followToTheEnd(body, service));
      case "credit":
        return this.#open.get(body.talk)?.window?.credit(body.to);
      case "hang_up":
        return this.#hangUp(body.talk);
      case "answer":
      case "chunk":
      case "end":
        return;
    }
  }

  /** The instances for which this holds are gone: nobody waits for what is done for them. */
  cut(isGone: (instance: string) => boolean): void {
    for (const [talk, { sender }] of [...this.#open]) if (isGone(sender)) this.#hangUp(talk);
  }

  #hangUp(talk: string): void {
    const service = this.#open.get(talk);
    service?.hungUp.abort();
    service?.window?.close();
  }

  #serve(sender: string, talk: string, work: (service: Service) => Promise<void>): void {
    const service: Service = { sender, hungUp: new AbortController() };
    this.#open.set(talk, service);
    this.#inBackground(work(service).finally(() => this.#open.delete(talk)));
  }

  async #ask(letter: LetterOf<"ask">, service: Service): Promise<void> {
    const { talk, nodeId, timeoutMs } = letter;
    const { nodes, seal } = this.#needs;
    const frame = await openedFrame(seal, letter);
    const limit = { timeoutMs, signal: service.hungUp.signal };
    const outcome = frame === undefined ? otherKey : await nodes.request(nodeId, frame, limit);
    if (!service.hungUp.signal.aborted) await this.#answer(service.sender, talk, outcome);
  }

  async #follow({ talk, nodeId, what }: LetterOf<"follow">, service: Service): Promise<void> {
    const { post, nodes } = this.#needs;
    const window = new Window(what.from, windowBytes);
    service.window = window;
    for await (const { from, to, bytes } of nodes.follow(nodeId, what, service.hungUp.signal)) {
      // A gap has no bytes and moves the window all the same.
      if (bytes !== null && !(await window.room(to))) return;
      if (bytes === null) window.credit(to);
      const b64 = bytes === null ? null : toBase64(bytes);
      await post.send(service.sender, { kind: "chunk", talk, from, to, b64 });
    }
  }

  async #answer(sender: string, talk: string, value: unknown): Promise<void> {
    await this.#needs.post.send(sender, { kind: "answer", talk, value });
  }

  /** Whoever follows waits for an end without a limit. */
  async #followToTheEnd(body: LetterOf<"follow">, service: Service): Promise<void> {
    try {
      await this.#follow(body, service);
    } finally {
      await this.#needs.post.send(service.sender, { kind: "end", talk: body.talk });
    }
  }

  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => this.#needs.log.warn("letter.not_served", { error }));
  }
}

/** One of before starts had numbers gives what was just stored. */
const given = ({ id, handOut = 0 }: LetterOf<"dispatch">): HandOut | undefined =>
  id === undefined ? undefined : { id, handOut };

const otherKey: RequestOutcome = {
  outcome: "refused",
  code: "unavailable",
  message: "the control plane that holds the node has another DROVER_SECRET_KEY",
};
