import { agentSilenceMs, maxFrameBytes } from "#shared/link/limits.ts";
import { pause } from "#shared/pause.ts";
import { createMemoryBus } from "../../bus/memory.ts";
import { type Link, openLink } from "../../link/link.ts";
import type { SocketEvents } from "../../link/socket.ts";
import type { Needs } from "../../needs.ts";
import { queueGauge } from "../../queue-gauge.ts";
import { type Env, hubOf } from "./env.ts";
import { HubBus } from "./hub-bus.ts";
import { objects } from "./instances.ts";
import { attachmentOf, objectSocket } from "./object-socket.ts";
import type { RestingStore } from "./resting-store.ts";
import { restingStore } from "./scope.ts";
import { knownOf } from "./settings.ts";

/**
 * The link of one node's object: an instance that holds one node. Its memory may be taken whenever no event is at work, and
 * the sockets stay. So
 *
 * - no timer runs and no connection is open while nothing happens: pings are answered by the runtime, silence is found by
 *   the hub's tick, signs of life are written as they come;
 * - what only the memory knows is written down before an event is over (`rest`);
 * - the first event after a sleep resumes the sessions out of attachments and rows before it looks at what it is about.
 *   A socket that cannot be resumed, as one whose hello was not answered yet, is closed, and the agent comes again.
 */
type Runtime = Pick<DurableObjectState, "getWebSockets" | "getWebSocketAutoResponseTimestamp" | "waitUntil">;

const tooLarge = 1009;
const comeAgain = 1001;
/** An agent whose socket dropped tries again at once, and then every second or so. */
const comeBackMs = 5000;
const lookEveryMs = 50;
const encoder = new TextEncoder();

export class HeldNode {
  readonly #ctx: Runtime;
  readonly link: Link;
  readonly needs: Needs;
  readonly #resting: RestingStore;
  readonly #tellHere: (nodeId: string) => void;
  readonly #events = new Map<WebSocket, SocketEvents>();
  #nodeId: string | undefined;
  #awake: Promise<unknown> | undefined;
  #expecting: Promise<boolean> | undefined;

  static async open(ctx: Runtime, env: Env): Promise<HeldNode> {
    return new HeldNode(ctx, env, await knownOf(env));
  }

  private constructor(
    ctx: Runtime,
    env: Env,
    { config, seal, log, maxQueued }: Awaited<ReturnType<typeof knownOf>>,
  ) {
    this.#ctx = ctx;
    this.#resting = restingStore(env);
    const { store } = this.#resting;
    const local = createMemoryBus((fault) => log.error("bus.look_failed", { error: fault }));
    const keep = (work: Promise<unknown>): void => ctx.waitUntil(work);
    const shared = new HubBus({ local, hub: hubOf(env), log, keep, sender: () => this.#nodeId });
    // It waits for changes of its own node only, which the hub tells by a call: a line to the hub would keep it awake.
    const bus = { ...local, publish: (topic: Parameters<typeof local.publish>[0]) => shared.publish(topic) };
    const queue = queueGauge(store.processes, maxQueued);
    const rest = { store, bus, seal, queue, config, log, instance: objects, now: () => new Date() };
    this.link = openLink(rest, { times: { silenceMs: Infinity, seenEveryMs: 0 } });
    this.needs = { ...rest, hub: this.link.hub };
    this.#tellHere = (nodeId) => local.publish(`node:${nodeId}`);
  }

  /** Whether the node's session is here; one that should be is waited for. */
  async isHere(nodeId: string): Promise<boolean> {
    await this.#resumed();
    if (this.#holds(nodeId)) return true;
    this.#expecting ??= this.#expect(nodeId).finally(() => (this.#expecting = undefined));
    return this.#expecting;
  }

  accept(socket: WebSocket, nodeId: string): void {
    this.#nodeId = nodeId;
    this.#events.set(socket, this.link.accept(nodeId, objectSocket(this.#ctx, socket, nodeId)));
  }

  async heard(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const events = await this.#eventsOf(socket);
    if (typeof message !== "string") events?.onBinary();
    // No text has more bytes than three for each of its units.
    else if (message.length * 3 > maxFrameBytes && encoder.encode(message).length > maxFrameBytes)
      socket.close(tooLarge, "the frame is too large");
    else events?.onText(message);
  }

  async closed(socket: WebSocket): Promise<void> {
    const events = await this.#eventsOf(socket);
    this.#events.delete(socket);
    events?.onClose();
  }

  /** Makes row and socket agree: one of which nothing was heard for too long is given up, else the session looks at its row. */
  async look(nodeId: string): Promise<void> {
    if (!(await this.isHere(nodeId))) return;
    const heardAt = this.link.nodes.sign(nodeId)?.lastSeenAt?.getTime() ?? 0;
    if (Date.now() - heardAt > agentSilenceMs) this.link.nodes.disconnect(nodeId, comeAgain, "silent");
    else this.#tellHere(nodeId);
  }

  /** Resolves when nothing is under way that a sleep would cut off. */
  async settled(): Promise<void> {
    await this.#resting.settled();
    try {
      await this.link.rest();
    } catch (error) {
      this.needs.log.warn("link.not_rested", { nodeId: this.#nodeId, error });
    }
    await this.#resting.settled();
  }

  #holds(nodeId: string): boolean {
    return this.link.nodes.here(nodeId) !== undefined;
  }

  /**
   * Where the row says that a session is here and none is, the object was moved or replaced, and its sockets went with it. The agent
   * is back in a moment, and whoever asks for the node just then waits for it; if it is not, the row is wrong.
   */
  async #expect(nodeId: string): Promise<boolean> {
    const { store, bus, log } = this.needs;
    const state = await store.nodes.state(nodeId);
    if (state?.heldBy !== objects) return false;
    for (const until = Date.now() + comeBackMs; !this.#holds(nodeId); await pause(lookEveryMs))
      if (Date.now() > until) {
        await store.nodes.disconnected(nodeId, { epoch: state.epoch, orderly: false, now: new Date() });
        log.info("node.disconnected", { nodeId, orderly: false, why: "its socket is gone" });
        bus.publish(`node:${nodeId}`);
        bus.publish("events");
        return false;
      }
    return true;
  }

  async #eventsOf(socket: WebSocket): Promise<SocketEvents | undefined> {
    await this.#resumed();
    if (!this.#events.has(socket)) await this.#resume(socket);
    return this.#events.get(socket);
  }

  #resumed(): Promise<unknown> {
    const asleep = this.#ctx.getWebSockets().filter((socket) => socket.readyState === WebSocket.OPEN);
    return (this.#awake ??= Promise.all(asleep.map((socket) => this.#resume(socket))));
  }

  async #resume(socket: WebSocket): Promise<void> {
    const attachment = attachmentOf(socket);
    if (this.#events.has(socket) || attachment === null) return;
    const { nodeId, kept } = attachment;
    this.#nodeId = nodeId;
    if (kept === undefined) return socket.close(comeAgain, "");
    const events = await this.link.resume(nodeId, objectSocket(this.#ctx, socket, nodeId), kept);
    if (events !== undefined) this.#events.set(socket, events);
  }
}
