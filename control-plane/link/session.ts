import type { DownFrame, Hello, UpFrame } from "#shared/link/frames.ts";
import { closeCodes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { type Admission, admit, type Place, wouldAdmit } from "./admission.ts";
import { ClockSkew } from "./clock-skew.ts";
import { parseFrame } from "./frame-text.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { Holders } from "./holders.ts";
import { LiveNode } from "./live-node.ts";
import { Probes } from "./probes.ts";
import type { WriteReports } from "./report-writer.ts";
import { persist } from "./retry.ts";
import type { Signs } from "./signs.ts";
import type { AgentSocket, KeptSession, SocketEvents } from "./socket.ts";
import type { LinkTimes } from "./times.ts";
import { Wire } from "./wire.ts";

/**
 * The life of one agent socket: waiting for its hello → admission (who holds the node?) → live → ended.
 * `welcome` is the first frame of a live session. A session that lost its node to another one is ended and writes nothing more;
 * the database holds that too, by the epoch. A runtime may take the memory of a live session and leave it its socket: another
 * one then resumes it, live at once.
 */
export type SessionNeeds = {
  needs: Needs;
  holders: Holders;
  elsewhere: Elsewhere;
  write: WriteReports;
  signs: Signs;
  times: LinkTimes;
};

type State = { phase: "hello" | "admission" | "ended" } | { phase: "live"; node: LiveNode; epoch: number };

const violation = 1008;

export class Session {
  readonly nodeId: string;
  /** Resolves when the session is over and its end is written down. */
  readonly done: Promise<void>;
  readonly #needs: Needs;
  readonly #holders: Holders;
  readonly #elsewhere: Elsewhere;
  readonly #write: WriteReports;
  readonly #signs: Signs;
  readonly #times: LinkTimes;
  readonly #wire: Wire;
  readonly #over = new AbortController();
  readonly #finished: () => void;
  readonly #skew = new ClockSkew((clockSkewMs) =>
    this.#needs.log.warn("node.clock_skewed", { nodeId: this.nodeId, clockSkewMs }),
  );
  readonly #helloTimer: ReturnType<typeof setTimeout>;
  #state: State = { phase: "hello" };
  #instanceId = "";
  #orderly = false;
  #seenAt: Date;
  readonly #probes = new Probes();
  #echoes = false;

  constructor(nodeId: string, socket: AgentSocket, around: SessionNeeds) {
    const { needs, holders, times } = around;
    this.nodeId = nodeId;
    this.#needs = needs;
    this.#holders = holders;
    this.#elsewhere = around.elsewhere;
    this.#write = around.write;
    this.#signs = around.signs;
    this.#times = times;
    this.#seenAt = needs.now();
    const finished = Promise.withResolvers<void>();
    this.done = finished.promise;
    this.#finished = finished.resolve;
    this.#wire = new Wire(socket, times, (why) => this.#end(why));
    this.#helloTimer = setTimeout(() => this.close(violation, "no hello came"), times.helloWithinMs);
  }

  readonly events: SocketEvents = {
    onText: (text) => this.#take(text),
    onBinary: () => this.close(violation, "invalid frame: binary"),
    onClose: () => this.#wire.closed(),
  };

  get instanceId(): string {
    return this.#instanceId;
  }

  get seenAt(): Date {
    const { answeredAt } = this.#wire;
    return answeredAt !== null && answeredAt > this.#seenAt ? answeredAt : this.#seenAt;
  }

  get clockSkewMs(): number | null {
    return this.#skew.ms;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  send(frame: DownFrame): boolean {
    return this.#wire.send(frame);
  }

  close(code: number, reason: string): void {
    this.#wire.close(code, reason);
  }

  terminate(why: string): void {
    this.#wire.terminate(why);
  }

  /** Whether the agent answers a probe in time. */
  async answersProbe(): Promise<boolean> {
    const { challengeMs: withinMs } = this.#times;
    const askedAt = this.#needs.now();
    const ask = { send: (frame: DownFrame) => this.send(frame), withinMs, signal: this.signal };
    // Where the runtime answers pings, those of an agent that sends no numbers back are not heard here.
    return (await this.#probes.ask(ask)) || (!this.#echoes && this.seenAt > askedAt);
  }

  /** Tries a database call until it works; undefined when the session ends first. */
  persist<T>(work: () => Promise<T>): Promise<{ value: T } | undefined> {
    return this.#persistUntil(this.signal, work);
  }

  inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) =>
      this.#needs.log.warn("link.background_failed", { nodeId: this.nodeId, error }),
    );
  }

  #take(text: string): void {
    if (!this.#wire.open) return;
    this.#wire.heard();
    this.#seenAt = this.#needs.now();
    const parsed = parseFrame(text);
    if ("refusal" in parsed) return this.close(parsed.refusal.code, parsed.refusal.reason);
    this.#probes.heard(parsed.frame, { echoes: this.#echoes });
    if ("wallAt" in parsed.frame) this.#skew.measure(parsed.frame.wallAt, this.#seenAt);
    this.#takeFrame(parsed.frame);
  }

  #takeFrame(frame: UpFrame): void {
    const state = this.#state;
    if (frame.type === "hello" && state.phase === "hello") return this.#greet(frame);
    if (frame.type === "goodbye" && state.phase !== "hello") {
      this.#orderly = true;
      return this.close(1000, "goodbye");
    }
    if (frame.type === "ping" || frame.type === "load") this.#wire.answer();
    if (frame.type === "ping" && state.phase === "admission") return;
    if (state.phase === "live" && frame.type !== "hello" && frame.type !== "goodbye") state.node.take(frame);
    else this.close(violation, `invalid frame: ${frame.type} in phase ${state.phase}`);
  }

  #greet(hello: Hello): void {
    clearTimeout(this.#helloTimer);
    this.#state = { phase: "admission" };
    this.#instanceId = hello.instanceId;
    this.#echoes = hello.echoes ?? false;
    this.#live(hello).catch((error: unknown) => {
      this.#needs.log.error("link.session_failed", { nodeId: this.nodeId, error });
      this.close(1011, "internal error");
    });
  }

  async #live(hello: Hello): Promise<void> {
    const node = await this.#holders.inTurn(this.nodeId, () =>
      hello.asks === true ? this.#answerAsking(hello) : this.#admit(hello),
    );
    if (node === undefined) return;
    const { log, bus } = this.#needs;
    this.#lookAtChanges(node);
    bus.publish(`node:${this.nodeId}`);
    bus.publish("events");
    log.info("node.connected", {
      nodeId: this.nodeId,
      version: hello.version,
      processes: hello.inventory.length,
    });
    await node.compare(hello.inventory);
    this.#keep();
  }

  /** Goes on as the session it was before its memory was taken: admitted, welcomed and compared. */
  async resume({ instanceId, echoes }: KeptSession, admission: Admission, rows: ProcessRow[]): Promise<void> {
    clearTimeout(this.#helloTimer);
    this.#instanceId = instanceId;
    this.#echoes = echoes;
    const node = this.#begin(admission);
    this.#lookAtChanges(node);
    await node.resume(rows);
  }

  /** Writes down what only this session knows. */
  async rest(): Promise<void> {
    if (this.#state.phase === "live") await this.#state.node.rest();
  }

  #keep(): void {
    if (this.#state.phase !== "live") return;
    const { epoch } = this.#state;
    this.#wire.keep({ epoch, instanceId: this.#instanceId, echoes: this.#echoes });
  }

  #lookAtChanges(node: LiveNode): void {
    const look = (): void => this.inBackground(this.#refresh(node));
    const unsubscribe = this.#needs.bus.subscribe(`node:${this.nodeId}`, look);
    this.signal.addEventListener("abort", unsubscribe);
  }

  /** Says whether this agent would be admitted; the session never becomes live. */
  async #answerAsking(hello: Hello): Promise<undefined> {
    const place = this.#place();
    const found = await wouldAdmit(place, hello);
    if (found !== undefined)
      this.send({ type: "welcome", nodeId: this.nodeId, nodeName: found.name, epoch: found.epoch });
  }

  #place(): Place {
    return {
      session: this,
      holders: this.#holders,
      elsewhere: this.#elsewhere,
      needs: this.#needs,
      challengeMs: this.#times.challengeMs,
    };
  }

  async #admit(hello: Hello): Promise<LiveNode | undefined> {
    const { nodeId } = this;
    const admission = await admit(this.#place(), hello);
    if (admission === undefined) return undefined;
    const { epoch, name, keyHash } = admission;
    if (admission.formerMachineId !== null)
      this.#needs.log.warn("node.machine_changed", { nodeId, from: admission.formerMachineId });
    // The socket went while the database wrote that it is there.
    if (this.signal.aborted) {
      await this.#writeEnd(epoch);
      return undefined;
    }
    // Before anybody finds the session in `holders` and sends: welcome is the first frame.
    this.send({ type: "welcome", nodeId, nodeName: name, epoch, keyHash });
    return this.#begin(admission);
  }

  #begin(admission: Admission): LiveNode {
    const node = new LiveNode({
      needs: this.#needs,
      times: this.#times,
      write: this.#write,
      session: this,
      admission,
      signs: this.#signs,
      current: () => this.#holds(),
      renamed: (name) => this.#holders.name(this.nodeId, name),
    });
    this.#state = { phase: "live", node, epoch: admission.epoch };
    this.#holders.hold({ session: this, node });
    return node;
  }

  async #refresh(node: LiveNode): Promise<void> {
    const found = await node.refresh();
    if (found === "deleted") this.close(closeCodes.revoked, "the node was deleted");
    if (found === "superseded") this.terminate("superseded");
  }

  /** Nobody else holds the node: true also in the last words of a session that just ended. */
  #holds(): boolean {
    const holder = this.#holders.of(this.nodeId)?.session;
    return holder === this || (holder === undefined && this.#state.phase === "ended");
  }

  #end(why: string): void {
    const state = this.#state;
    this.#state = { phase: "ended" };
    clearTimeout(this.#helloTimer);
    this.#holders.release(this);
    this.#over.abort();
    if (state.phase !== "live") return this.#finished();
    this.#needs.log.info("node.disconnected", { nodeId: this.nodeId, orderly: this.#orderly, why });
    this.inBackground(this.#lastWords(state.node, state.epoch).finally(this.#finished));
  }

  async #lastWords(node: LiveNode, epoch: number): Promise<void> {
    await node.end();
    await this.#writeEnd(epoch, node.alive.unreported);
  }

  async #writeEnd(epoch: number, confirmed: string[] = []): Promise<void> {
    const { nodes, processes } = this.#needs.store;
    const end = { epoch, orderly: this.#orderly, now: this.#needs.now() };
    await this.#persistUntil(AbortSignal.timeout(this.#times.farewellMs), async () => {
      if (confirmed.length > 0) await processes.confirm(confirmed);
      await nodes.disconnected(this.nodeId, end);
    });
    this.#needs.bus.publish(`node:${this.nodeId}`);
    this.#needs.bus.publish("events");
  }

  #persistUntil<T>(signal: AbortSignal, work: () => Promise<T>): Promise<{ value: T } | undefined> {
    const onFailure = (error: unknown): void =>
      this.#needs.log.warn("link.store_failed", { nodeId: this.nodeId, error });
    return persist(work, { signal, pauses: this.#times.retryMs, onFailure });
  }
}
