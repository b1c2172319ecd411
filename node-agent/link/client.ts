import { setTimeout as pause } from "node:timers/promises";
import type { NodeLoad } from "#shared/api/node.ts";
import { loadEveryMs } from "#shared/link/limits.ts";
import type { Engine } from "../engine.ts";
import { reasonOf, type Log } from "../log.ts";
import { nextAttempt } from "./attempts.ts";
import { Confirmations } from "./confirmations.ts";
import { deliver, type LiveRoom } from "./deliver.ts";
import { createFollows } from "./follows.ts";
import { helloOf, type Greeting } from "./hello.ts";
import { Outbox } from "./outbox.ts";
import { createRequests } from "./requests.ts";
import { openSession, type LiveFrame, type Welcome } from "./session.ts";
import type { SelfOnLink } from "./self-on-link.ts";
import { linkTimes, type AgentSocket, type LinkTimes, type SocketEnd } from "./socket.ts";
import { tryKeys } from "./try-keys.ts";
import { verdictOf } from "./verdict.ts";

/**
 * The agent's line to its control plane, for as long as the agent lives: one socket after another.
 *
 * connecting → live → ended → waiting → connecting …, until `close`, or until an end that no later attempt can mend.
 */
export type LinkNeeds = {
  self: SelfOnLink;
  engine: Engine;
  greeting: Greeting;
  load: () => Promise<NodeLoad>;
  log: Log;
  times?: LinkTimes;
  random?: () => number;
};

const sayAgainMs = 60_000;

export class Link {
  /** Resolves when the link is over: with its cause, or undefined after `close`. */
  readonly done: Promise<string | undefined>;
  readonly #needs: LinkNeeds;
  readonly #closing = new AbortController();
  readonly #outbox: Outbox;
  readonly #confirmations: Confirmations;
  #socket: AgentSocket | undefined;
  #live: LiveRoom | undefined;
  #lastSaid = { why: "", at: -Infinity };

  constructor(needs: LinkNeeds) {
    this.#needs = needs;
    this.#outbox = new Outbox(needs.engine, (id) => this.#confirmations.drop(id));
    this.#confirmations = new Confirmations((id) => this.#live?.socket.send({ type: "accepted", id }));
    needs.engine.onReport = (id) => this.#outbox.changed(id);
    needs.engine.onAccepted = (id) => this.#accepted(id);
    this.done = this.#run();
  }

  /** Waits until the control plane has acknowledged all reports; at most `withinMs`, and not at all without a live socket. */
  async settle(withinMs: number): Promise<void> {
    if (this.#live === undefined) return;
    const enough = new AbortController();
    const late = pause(withinMs, undefined, { signal: enough.signal }).catch(() => undefined);
    await Promise.race([this.#outbox.settled(), this.done, late]);
    enough.abort();
  }

  /** Says goodbye and ends; within about a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#confirmations.close();
    if (this.#live !== undefined) this.#socket?.send({ type: "goodbye" });
    this.#socket?.close(1000, "goodbye");
    await this.done;
  }

  async #run(): Promise<string | undefined> {
    const { signal } = this.#closing;
    let attempt = 0;
    while (!signal.aborted) {
      const { end, liveMs } = await tryKeys(this.#needs.self.keys, signal, (key) => this.#session(key));
      if (signal.aborted) break;
      const verdict = verdictOf(end);
      if (verdict.next === "stop") return verdict.why;
      const planned = nextAttempt(attempt, { next: verdict.next, liveMs }, this.#needs.random ?? Math.random);
      attempt = planned.attempt;
      this.#say(liveMs > 0 ? "link.disconnected" : "link.unreachable", verdict.why, planned.waitMs);
      // Rejects only because the link is closing, which the loop sees.
      await pause(planned.waitMs, undefined, { signal }).catch(() => undefined);
    }
    return undefined;
  }

  /** One socket from its opening to its end. */
  #session(key: string): Promise<{ end: SocketEnd; liveMs: number }> {
    const { self, engine, greeting, times = linkTimes } = this.#needs;
    return new Promise((resolve) => {
      let liveSince: number | undefined;
      let loads: NodeJS.Timeout | undefined;
      this.#socket = openSession({
        url: self.url,
        authorization: `Bearer ${self.nodeId}.${key}`,
        times,
        hello: () => helloOf(greeting, engine.inventory()),
        onLive: (socket, welcome) => {
          liveSince = performance.now();
          this.#begin(socket, welcome);
          loads = setInterval(() => this.#beat(socket), loadEveryMs);
        },
        onFrame: (frame) => this.#take(frame),
        onEnd: (end) => {
          clearInterval(loads);
          this.#end();
          resolve({ end, liveMs: liveSince === undefined ? 0 : performance.now() - liveSince });
        },
      });
    });
  }

  #begin(socket: AgentSocket, welcome: Welcome): void {
    const { self, engine, log } = this.#needs;
    this.#live = {
      engine,
      outbox: this.#outbox,
      socket,
      requests: createRequests({ engine, self, socket, log }),
      follows: createFollows(engine, socket),
    };
    this.#lastSaid = { why: "", at: -Infinity };
    log.info("link.connected", {
      node: welcome.nodeName,
      nodeId: welcome.nodeId,
      url: self.url,
    });
    self.welcomed(welcome);
    this.#outbox.attach(socket);
    void this.#sendLoad(socket);
  }

  #end(): void {
    this.#outbox.detach();
    this.#live?.requests.close();
    this.#live?.follows.close();
    this.#live = undefined;
    this.#socket = undefined;
  }

  /** A frame that makes something fail is one frame: the agent lives on for all others. */
  #take(frame: LiveFrame): void {
    if (this.#live === undefined) return;
    try {
      deliver(frame, this.#live);
    } catch (error) {
      this.#needs.log.error("frame.failed", { type: frame.type, error: reasonOf(error) });
    }
  }

  #accepted(id: string): void {
    this.#confirmations.add(id);
    this.#live?.follows.arrived(id);
  }

  #beat(socket: AgentSocket): void {
    this.#outbox.repeat();
    void this.#sendLoad(socket);
  }

  async #sendLoad(socket: AgentSocket): Promise<void> {
    try {
      const load = await this.#needs.load();
      socket.send({ type: "load", load, wallAt: Date.now() });
    } catch (error) {
      this.#needs.log.warn("load.failed", { error: reasonOf(error) });
    }
  }

  /** Tells of a line that stays down once, and then once a minute. */
  #say(event: string, why: string, retryInMs: number): void {
    const now = performance.now();
    if (why === this.#lastSaid.why && now - this.#lastSaid.at < sayAgainMs) return;
    this.#lastSaid = { why, at: now };
    this.#needs.log.warn(event, { why, retryInMs });
  }
}
