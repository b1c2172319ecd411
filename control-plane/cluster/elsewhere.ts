import type { PlainFrame, RequestFrame } from "#shared/link/frames.ts";
import type { Bus } from "../bus/bus.ts";
import type { Log, OutputChunk, RequestOutcome, RequestWithoutId, Seal } from "../needs.ts";
import type { HandOut, Store } from "../store/store.ts";
import type { Elsewhere, FollowedStream, RequestLimit } from "../link/elsewhere.ts";
import { Follow, type OutputFrame } from "../link/follow.ts";
import type { LetterBody, LetterOf } from "./letter.ts";
import type { Post } from "./post.ts";
import { sealedAsk } from "./sealed-stdin.ts";

/**
 * Nodes whose socket another instance has, reached by letters. A question ends by its answer, its time, its client, or the
 * end of whoever should answer: then what happened is unknown. So it does when the node's socket is elsewhere by then: an agent
 * comes back to another instance long before its former one is known to be dead. After a gap of the database, which empties the letter boxes, all
 * conversations end the same way; a follower goes on from where it was.
 */
export type ElsewhereNeeds = {
  post: Post;
  bus: Bus;
  log: Log;
  seal: Seal;
  store: Pick<Store, "nodes">;
  self: string;
  newTalk(): string;
};

type Conversation = {
  nodeId: string;
  /** The instance that has the node's socket; undefined until the first letter is there. */
  with: string | undefined;
  hear(body: LetterBody): void;
  cut(): void;
};
type Question = Extract<LetterBody, { kind: "ask" | "probe" }>;
type Heard = { value: unknown } | "offline" | "no_answer";

/** The way of a question and its answer through the database, beyond the time that the node has. */
const postageMs = 2000;

export class Correspondence implements Elsewhere {
  readonly #needs: ElsewhereNeeds;
  readonly #open = new Map<string, Conversation>();

  constructor(needs: ElsewhereNeeds) {
    this.#needs = needs;
  }

  async held(nodeIds: string[]): Promise<Set<string>> {
    return new Set(await this.#needs.store.nodes.heldElsewhere(nodeIds, this.#needs.self));
  }

  async push(nodeId: string, frame: PlainFrame): Promise<boolean> {
    return (await this.#needs.post.sendToHolder(nodeId, { kind: "push", nodeId, frame })) !== undefined;
  }

  async dispatch(nodeId: string, start?: HandOut): Promise<boolean> {
    const letter = { kind: "dispatch" as const, nodeId, id: start?.id, handOut: start?.handOut };
    return (await this.#needs.post.sendToHolder(nodeId, letter)) !== undefined;
  }

  async request(nodeId: string, frame: RequestWithoutId, limit: RequestLimit): Promise<RequestOutcome> {
    const { timeoutMs } = limit;
    const talk = this.#needs.newTalk();
    const asked = { talk, nodeId, frame: { ...frame, rid: talk } as RequestFrame, timeoutMs };
    const heard = await this.#ask(await sealedAsk(this.#needs.seal, asked), limit);
    return typeof heard === "string" ? { outcome: heard } : (heard.value as RequestOutcome);
  }

  async answersProbe(nodeId: string, timeoutMs: number): Promise<boolean> {
    const heard = await this.#ask(
      { kind: "probe", talk: this.#needs.newTalk(), nodeId },
      { timeoutMs, signal: undefined },
    );
    return typeof heard === "object" && heard.value === true;
  }

  async *follow(
    nodeId: string,
    what: FollowedStream,
    signal: AbortSignal,
  ): AsyncGenerator<OutputChunk, void, undefined> {
    const talk = this.#needs.newTalk();
    const follow = new Follow({ type: "follow", follow: talk, ...what }, (frame) => {
      if (frame.type === "credit") this.#reply(talk, { kind: "credit", talk, to: frame.to });
      return true;
    });
    const conversation: Conversation = {
      nodeId,
      with: undefined,
      hear(body) {
        if (body.kind === "chunk") follow.take(outputFrame(body));
        if (body.kind === "end") follow.end();
      },
      cut: () => follow.end(),
    };
    const close = this.#begin(talk, conversation);
    try {
      const letter = { kind: "follow" as const, talk, nodeId, what };
      conversation.with = await this.#needs.post.sendToHolder(nodeId, letter);
      if (conversation.with !== undefined) yield* follow.chunks(signal);
    } finally {
      this.#reply(talk, { kind: "hang_up", talk });
      close();
    }
  }

  /** A letter of another instance about a conversation that began here. */
  hear(sender: string, body: LetterBody): void {
    if (!("talk" in body)) return;
    const conversation = this.#open.get(body.talk);
    if (conversation !== undefined) conversation.hear(body);
    // Nobody follows here any more, and the hanging up did not arrive there.
    else if (body.kind === "chunk") this.#needs.post.drop(sender, { kind: "hang_up", talk: body.talk });
  }

  /** These instances are gone (all, after a gap): nobody there will answer any more. */
  cut(isGone: (instance: string) => boolean): void {
    for (const { with: other, cut } of [...this.#open.values()])
      if (other !== undefined && isGone(other)) cut();
  }

  #begin(talk: string, conversation: Conversation): () => void {
    this.#open.set(talk, conversation);
    const unsubscribe = this.#needs.bus.subscribe(`node:${conversation.nodeId}`, () => {
      this.#look(conversation).catch((error: unknown) => this.#needs.log.warn("letter.unwatched", { error }));
    });
    return () => {
      unsubscribe();
      this.#open.delete(talk);
    };
  }

  async #look({ nodeId, with: other, cut }: Conversation): Promise<void> {
    const state = await this.#needs.store.nodes.state(nodeId);
    if (other !== undefined && state?.heldBy !== other) cut();
  }

  #reply(talk: string, body: LetterBody): void {
    const other = this.#open.get(talk)?.with;
    if (other !== undefined) this.#needs.post.drop(other, body);
  }

  async #ask(question: Question, { timeoutMs, signal }: RequestLimit): Promise<Heard> {
    const { talk, nodeId } = question;
    const heard = Promise.withResolvers<Heard>();
    const abandon = (): void => {
      this.#reply(talk, { kind: "hang_up", talk });
      heard.resolve("no_answer");
    };
    const conversation: Conversation = {
      nodeId,
      with: undefined,
      hear: (body) => body.kind === "answer" && heard.resolve({ value: body.value }),
      cut: () => heard.resolve("no_answer"),
    };
    const close = this.#begin(talk, conversation);
    const timer = setTimeout(abandon, timeoutMs + postageMs);
    signal?.addEventListener("abort", abandon);
    try {
      conversation.with = await this.#needs.post.sendToHolder(nodeId, question);
      if (conversation.with === undefined) return "offline";
      if (signal?.aborted === true) abandon();
      return await heard.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abandon);
      close();
    }
  }
}

const outputFrame = ({ talk, from, to, b64 }: LetterOf<"chunk">): OutputFrame => ({
  ...{ type: "output", follow: talk, from, to },
  ...(b64 === null ? { gap: true } : { b64 }),
});
