// One agent of a simulated fleet: the protocol of a real one on a real socket, without a machine behind it.
//
// connecting → hello → live → ended → waiting → connecting …, with the waits of the real agent; a `stop` verdict, such as a
// node that was deleted, ends it for good.

import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { DownFrame, UpFrame } from "#shared/link/frames.ts";
import { controlPlaneSilenceMs, loadEveryMs, pingEveryMs, protocolVersion } from "#shared/link/limits.ts";
import { nextAttempt } from "../../node-agent/link/attempts.ts";
import { linkTimes } from "../../node-agent/link/socket.ts";
import { verdictOf, type Verdict } from "../../node-agent/link/verdict.ts";
import { Reader, textFrame, upgradeRequest, type Heard } from "./frames.ts";
import { monotonicMs } from "./monotonic.ts";
import { SimulatedProcesses } from "./simulated-processes.ts";

export type Identity = { nodeId: string; name: string; key: string };

/** What an agent tells of itself; times are of the machine's monotonic clock. */
export type Witness = {
  attempt(atMs: number): void;
  live(atMs: number): void;
  gone(why: string): void;
  started(processId: string, atMs: number): void;
  pong(afterMs: number): void;
};

const load = textFrame(
  JSON.stringify({
    type: "load",
    load: { cpu: 0.031, memUsedBytes: 812_345_344, diskFreeBytes: 41_234_567_168 },
  }),
);
const ping = textFrame(JSON.stringify({ type: "ping" }));
const facts = {
  version: "0.0.0",
  os: "linux",
  arch: "x64",
  hostname: "simulated",
  cpus: 2,
  memBytes: 4_294_967_296,
  enforces: [],
  maxProcesses: 256,
};

export class SimulatedAgent {
  readonly #identity: Identity;
  readonly #address: { host: string; port: number };
  readonly #witness: Witness;
  readonly #instanceId = randomUUID();
  readonly #processes: SimulatedProcesses;
  #socket: Socket | undefined;
  #isOpen = false;
  #liveSince: number | undefined;
  #attempt = 0;
  #signedAt = 0;
  #pings: NodeJS.Timeout | undefined;
  #loads: NodeJS.Timeout | undefined;

  constructor(identity: Identity, address: { host: string; port: number }, witness: Witness) {
    this.#identity = identity;
    this.#address = address;
    this.#witness = witness;
    // What is not said now is said on the next socket.
    this.#processes = new SimulatedProcesses(identity.name, (frame) => this.isLive && this.#say(frame));
  }

  get isLive(): boolean {
    return this.#liveSince !== undefined;
  }

  open(): void {
    const { nodeId, key } = this.#identity;
    const { host, port } = this.#address;
    const reader = new Reader();
    const end = {
      code: 1006,
      reason: "",
      httpStatus: undefined as number | undefined,
      error: undefined as string | undefined,
    };
    const socket = connect({ host, port, noDelay: true });
    this.#witness.attempt(monotonicMs());
    this.#socket = socket;
    const give = (why: string): void => {
      end.error = why;
      socket.destroy();
    };
    const silence = setTimeout(() => give("silence"), controlPlaneSilenceMs);
    const handshake = setTimeout(() => give("no answer to the upgrade"), linkTimes.handshakeMs);
    const pings = setInterval(() => this.#sign(ping), pingEveryMs);
    this.#pings = pings;
    socket.on("connect", () => socket.write(upgradeRequest(`${host}:${port}`, `Bearer ${nodeId}.${key}`)));
    socket.on("data", (bytes: Buffer) => {
      silence.refresh();
      for (const heard of reader.take(bytes)) {
        if ("status" in heard) {
          clearTimeout(handshake);
          if (heard.status !== 101) end.httpStatus = heard.status;
        }
        if ("close" in heard) end.code = heard.close;
        this.#take(heard, socket);
      }
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (end.error ??= error.code));
    socket.on("close", () => {
      for (const timer of [silence, handshake, pings]) clearTimeout(timer);
      this.#ended(verdictOf(end));
    });
  }

  #take(heard: Heard, socket: Socket): void {
    if ("text" in heard) return this.#frame(JSON.parse(heard.text) as DownFrame);
    if ("close" in heard || heard.status !== 101) return void socket.destroy();
    this.#isOpen = true;
    this.#say({
      type: "hello",
      protocol: protocolVersion,
      version: facts.version,
      instanceId: this.#instanceId,
      machineId: this.#identity.nodeId,
      bootId: this.#identity.nodeId,
      facts,
      inventory: this.#processes.inventory(),
    });
  }

  #frame(frame: DownFrame): void {
    if (frame.type === "pong") this.#witness.pong(monotonicMs() - this.#signedAt);
    else if (frame.type === "welcome") this.#welcome();
    else if (frame.type === "probe") this.#sign(ping);
    else if (frame.type === "start") {
      this.#witness.started(frame.launch.id, monotonicMs());
      this.#processes.start(frame.launch);
    } else if (frame.type === "acknowledge") this.#processes.acknowledged(frame.acks);
    else if (frame.type === "forget") this.#processes.forget(frame.ids);
    else if ("rid" in frame && frame.type !== "abandon")
      this.#say({ type: "reply", rid: frame.rid, error: { code: "not_found", message: "simulated" } });
  }

  #welcome(): void {
    this.#liveSince = monotonicMs();
    this.#witness.live(this.#liveSince);
    this.#processes.repeat();
    this.#sign(load);
    this.#loads = setInterval(() => this.#sign(load), loadEveryMs);
  }

  #ended(verdict: Verdict): void {
    const liveMs = this.#liveSince === undefined ? 0 : monotonicMs() - this.#liveSince;
    clearInterval(this.#loads);
    this.#socket = undefined;
    this.#isOpen = false;
    this.#liveSince = undefined;
    this.#witness.gone(verdict.why);
    if (verdict.next === "stop") return;
    const { waitMs, attempt } = nextAttempt(this.#attempt, { next: verdict.next, liveMs }, Math.random);
    this.#attempt = attempt;
    setTimeout(() => this.open(), waitMs);
  }

  #sign(frame: Buffer): void {
    // Before the upgrade it would stand in the request.
    if (!this.#isOpen) return;
    this.#signedAt = monotonicMs();
    this.#write(frame);
  }

  #say(frame: UpFrame): void {
    this.#write(textFrame(JSON.stringify(frame)));
  }

  #write(frame: Buffer): void {
    this.#pings?.refresh();
    this.#socket?.write(frame);
  }
}
