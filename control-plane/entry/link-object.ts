import { DurableObject } from "cloudflare:workers";
import type { PlainFrame } from "#shared/link/frames.ts";
import { dispatchFor } from "../link/dispatch.ts";
import type { FollowedStream } from "../link/elsewhere.ts";
import type { RequestOutcome, RequestWithoutId } from "../needs.ts";
import type { HandOut } from "../store/store.ts";
import { fenceUnconfirmed } from "../scheduler/fence.ts";
import { nodeHeader } from "./worker/agent-upgrade.ts";
import { chunkStream } from "./worker/chunk-stream.ts";
import type { Env } from "./worker/env.ts";
import { HeldNode } from "./worker/held-node.ts";
import type { LinkPort } from "./worker/link-port.ts";

/**
 * The object of one node (by the node's id), with the socket of its agent: `worker/held-node.ts` says how it may sleep. Its calls
 * are `LinkPort`; a call that waits for the agent keeps the object awake, and so does a follower.
 */
const beatEveryMs = 15_000;
/** As the agent writes and reads them (shared/link/frames.ts). */
const [ping, pong] = [`{"type":"ping"}`, `{"type":"pong"}`];

export class LinkObject extends DurableObject<Env> implements LinkPort {
  readonly #opened: Promise<HeldNode>;
  readonly #talks = new Map<string, AbortController>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(ping, pong));
    this.#opened = ctx.blockConcurrencyWhile(() => HeldNode.open(ctx, env));
  }

  /** The upgrade of an agent whose key was checked. */
  override fetch(request: Request): Promise<Response> {
    return this.#at((held) => {
      const { 0: client, 1: server } = new WebSocketPair();
      this.ctx.acceptWebSocket(server);
      held.accept(server, request.headers.get(nodeHeader) ?? "");
      return new Response(null, { status: 101, webSocket: client });
    });
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    return this.#at((held) => held.heard(socket, message));
  }

  override webSocketClose(socket: WebSocket): Promise<void> {
    return this.#at((held) => held.closed(socket));
  }

  override webSocketError(socket: WebSocket): Promise<void> {
    return this.#at((held) => held.closed(socket));
  }

  push(nodeId: string, frame: PlainFrame): Promise<boolean> {
    return this.#atNode(nodeId, false, (held) => held.link.nodes.push(nodeId, frame));
  }

  dispatch(nodeId: string, start?: HandOut): Promise<boolean> {
    return this.#atNode(nodeId, false, async (held) => {
      await dispatchFor(held.needs, nodeId, start);
      return true;
    });
  }

  ask(
    nodeId: string,
    frame: RequestWithoutId,
    { talk, timeoutMs }: { talk: string; timeoutMs: number },
  ): Promise<RequestOutcome> {
    return this.#atNode<RequestOutcome>(nodeId, { outcome: "offline" }, async (held) => {
      try {
        return await held.link.nodes.request(nodeId, frame, { timeoutMs, signal: this.#begin(talk) });
      } finally {
        this.#talks.delete(talk);
      }
    });
  }

  follow(
    nodeId: string,
    what: FollowedStream,
    talk: string,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#atNode<ReadableStream<Uint8Array> | undefined>(nodeId, undefined, (held) => {
      const chunks = held.link.nodes.follow(nodeId, what, this.#begin(talk));
      return chunkStream(chunks[Symbol.asyncIterator](), { beatEveryMs, over: () => void this.hangUp(talk) });
    });
  }

  hangUp(talk: string): Promise<void> {
    this.#talks.get(talk)?.abort();
    this.#talks.delete(talk);
    return Promise.resolve();
  }

  answersProbe(nodeId: string): Promise<boolean> {
    return this.#atNode(nodeId, false, (held) => held.link.nodes.answersProbe(nodeId));
  }

  look(nodeId: string): Promise<void> {
    return this.#at((held) => held.look(nodeId));
  }

  fence(nodeId: string): Promise<void> {
    return this.#atNode(nodeId, undefined, (held) => fenceUnconfirmed(held.needs));
  }

  #begin(talk: string): AbortSignal {
    const hungUp = new AbortController();
    this.#talks.set(talk, hungUp);
    return hungUp.signal;
  }

  /** Does this, and lets the object sleep only when what follows from it is done, too. */
  async #at<T>(work: (held: HeldNode) => T | Promise<T>): Promise<T> {
    const held = await this.#opened;
    try {
      return await work(held);
    } finally {
      this.ctx.waitUntil(held.settled());
    }
  }

  #atNode<T>(nodeId: string, away: T, work: (held: HeldNode) => T | Promise<T>): Promise<T> {
    return this.#at(async (held) => ((await held.isHere(nodeId)) ? work(held) : away));
  }
}
