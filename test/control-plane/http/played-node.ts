import { randomUUID } from "node:crypto";
import type { NodeFacts } from "#shared/api/node.ts";
import { downFrame, type DownFrame, type UpFrame } from "#shared/link/frames.ts";
import { chunkBytes, protocolVersion, snapshotBytes } from "#shared/link/limits.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import type { Link } from "../../../control-plane/link/link.ts";
import type { SocketEvents } from "../../../control-plane/link/socket.ts";
import { reportOf } from "../link/far-end.ts";

type Stream = "merged" | "stdout" | "stderr";
type Follow = { id: string; stream: Stream; at: number };
type Held = { bytes: Buffer; gap: { from: number; to: number } | undefined };

/**
 * The far end of the wire: a node whose processes a test plays. It keeps their output as an agent does (across sockets),
 * answers `read` and `follow` from it, and says only what a test has it say about their state.
 */
export class PlayedNode {
  readonly told: DownFrame[] = [];
  readonly launches: Launch[] = [];
  /** What it says of its machine with the next hello. */
  facts: NodeFacts = {};
  /** Called for each start; a test may report an ending at once. */
  onStart: (launch: Launch) => void = (launch) => this.report({ id: launch.id, status: "running" });
  /** Answers requests other than `read`; undefined: the test replies later. */
  onRequest: (frame: Extract<DownFrame, { rid: string }>) => unknown = () => ({});
  readonly #link: Pick<Link, "accept">;
  readonly #nodeId: string;
  readonly #instanceId = randomUUID();
  readonly #held = new Map<string, Held>();
  readonly #follows = new Map<string, Follow>();
  readonly #known = new Map<string, Report>();
  /** What was not acknowledged yet; an agent says it again on each new socket. */
  readonly #pending = new Map<string, Report>();
  #events: SocketEvents | undefined;
  #live = false;
  #welcomed = (): void => {};

  constructor(link: Pick<Link, "accept">, nodeId: string) {
    this.#link = link;
    this.#nodeId = nodeId;
  }

  /** Opens a socket; resolves when the control plane welcomed it. */
  connect(): Promise<void> {
    const welcome = Promise.withResolvers<void>();
    this.#welcomed = welcome.resolve;
    this.#events = this.#link.accept(this.#nodeId, {
      send: (text) => this.#take(downFrame.parse(JSON.parse(text))),
      close: () => queueMicrotask(() => this.cut()),
      terminate: () => queueMicrotask(() => this.cut()),
      bufferedAmount: 0,
    });
    const inventory = [...this.#known.values()].map(({ id, status, revision }) => ({ id, status, revision }));
    this.#say({
      type: "hello",
      protocol: protocolVersion,
      version: "0.0.1",
      instanceId: this.#instanceId,
      machineId: "machine",
      bootId: "boot",
      facts: this.facts,
      inventory,
    });
    return welcome.promise;
  }

  /** The connection breaks; output and processes stay. */
  cut(): void {
    const events = this.#events;
    this.#events = undefined;
    this.#live = false;
    this.#follows.clear();
    events?.onClose();
  }

  /** The process writes. */
  write(id: string, text: string | Uint8Array, stream: Stream = "merged"): void {
    const held = this.#heldOf(id, stream);
    held.bytes = Buffer.concat([held.bytes, Buffer.from(text)]);
    for (const [name, follow] of this.#follows)
      if (follow.id === id && follow.stream === stream) this.#send(name, follow);
  }

  /** Bytes [from, to) are no longer kept. */
  punch(id: string, gap: { from: number; to: number }): void {
    this.#heldOf(id, "merged").gap = gap;
  }

  /** Says how a process is, with the output as it is now. */
  report(change: Partial<Report> & { id: string }): void {
    const revision = (this.#known.get(change.id)?.revision ?? 0) + 1;
    const streams = (["merged", "stdout", "stderr"] as const).filter((stream) =>
      this.#held.has(`${change.id} ${stream}`),
    );
    const snapshots = streams.map((stream) => this.#snapshot(change.id, stream));
    const totalBytes = snapshots.reduce((sum, snapshot) => sum + snapshot.totalBytes, 0);
    const report = reportOf({
      ...this.#known.get(change.id),
      totalBytes,
      snapshots,
      ...change,
      revision,
    });
    this.#known.set(change.id, report);
    this.#pending.set(report.id, report);
    if (this.#live) this.#say({ type: "reports", reports: [report] });
  }

  exit(id: string, change: Partial<Report> = {}): void {
    this.report({ id, status: "exited", exitCode: 0, exitedAgeMs: 0, durationMs: 1, ...change });
  }

  reply(rid: string, answer: unknown): void {
    const isError = typeof answer === "object" && answer !== null && "error" in answer;
    this.#say({ type: "reply", rid, ...(isError ? (answer as object) : { value: answer }) });
  }

  /** What the node keeps of an ended process is gone. */
  forget(id: string): void {
    for (const key of [...this.#held.keys()]) if (key.startsWith(`${id} `)) this.#held.delete(key);
  }

  #heldOf(id: string, stream: Stream): Held {
    const key = `${id} ${stream}`;
    const held = this.#held.get(key) ?? { bytes: Buffer.alloc(0), gap: undefined };
    this.#held.set(key, held);
    return held;
  }

  #snapshot(id: string, stream: Stream) {
    const { bytes } = this.#heldOf(id, stream);
    const tail = bytes.subarray(Math.max(snapshotBytes, bytes.length - snapshotBytes));
    return {
      stream,
      head: bytes.subarray(0, snapshotBytes).toString("base64"),
      tail: tail.toString("base64"),
      totalBytes: bytes.length,
    };
  }

  #say(frame: UpFrame): void {
    this.#events?.onText(JSON.stringify(frame));
  }

  #take(frame: DownFrame): void {
    this.told.push(frame);
    if (frame.type === "welcome") queueMicrotask(() => this.#begin());
    if (frame.type === "acknowledge")
      for (const { id, revision } of frame.acks)
        if (this.#pending.get(id)?.revision === revision) this.#pending.delete(id);
    if ("rid" in frame && frame.type !== "abandon") queueMicrotask(() => this.#answer(frame));
    if (frame.type === "start") {
      this.launches.push(frame.launch);
      queueMicrotask(() => this.onStart(frame.launch));
    }
    if (frame.type === "unfollow") this.#follows.delete(frame.follow);
    if (frame.type === "follow") {
      const follow = { id: frame.id, stream: frame.stream, at: frame.from };
      this.#follows.set(frame.follow, follow);
      queueMicrotask(() => this.#send(frame.follow, follow));
    }
  }

  #begin(): void {
    this.#live = true;
    this.#welcomed();
    if (this.#pending.size > 0) this.#say({ type: "reports", reports: [...this.#pending.values()] });
  }

  #send(name: string, follow: Follow): void {
    const { bytes, gap } = this.#heldOf(follow.id, follow.stream);
    while (follow.at < bytes.length && this.#follows.has(name)) {
      const from = follow.at;
      if (gap !== undefined && from >= gap.from && from < gap.to) {
        follow.at = gap.to;
        this.#say({ type: "output", follow: name, from, to: gap.to, gap: true });
      } else {
        const to = Math.min(
          bytes.length,
          from + chunkBytes,
          gap !== undefined && gap.from > from ? gap.from : Number.MAX_SAFE_INTEGER,
        );
        follow.at = to;
        this.#say({
          type: "output",
          follow: name,
          from,
          to,
          b64: bytes.subarray(from, to).toString("base64"),
        });
      }
    }
  }

  #answer(frame: Extract<DownFrame, { rid: string }>): void {
    if (frame.type !== "read") {
      const answer = this.onRequest(frame);
      return answer === undefined ? undefined : this.reply(frame.rid, answer);
    }
    const held = this.#held.get(`${frame.id} ${frame.stream}`);
    if (held === undefined && this.#known.get(frame.id)?.totalBytes !== 0)
      return this.#say({
        type: "reply",
        rid: frame.rid,
        error: { code: "not_found", message: "no such process" },
      });
    this.#say({
      type: "reply",
      rid: frame.rid,
      value: readOf(held ?? { bytes: Buffer.alloc(0), gap: undefined }, frame),
    });
  }
}

function readOf(
  { bytes, gap }: Held,
  frame: {
    head?: number | undefined;
    tail?: number | undefined;
    from?: number | undefined;
    to?: number | undefined;
  },
) {
  const total = bytes.length;
  const wanted: boolean[] = Array.from({ length: total }, (_, at) => {
    const inRange = frame.from !== undefined && at >= frame.from && at < (frame.to ?? total);
    const kept = gap === undefined || at < gap.from || at >= gap.to;
    return kept && (at < (frame.head ?? 0) || at >= total - (frame.tail ?? 0) || inRange);
  });
  const parts: { from: number; to: number; b64: string }[] = [];
  for (let from = wanted.indexOf(true); from >= 0;) {
    const end = wanted.indexOf(false, from);
    const to = end < 0 ? total : end;
    parts.push({ from, to, b64: bytes.subarray(from, to).toString("base64") });
    from = end < 0 ? -1 : wanted.indexOf(true, to);
  }
  return { totalBytes: total, parts, gaps: gap === undefined ? [] : [gap] };
}
