import { randomUUID } from "node:crypto";
import { downFrame, type DownFrame, type Hello, type UpFrame } from "#shared/link/frames.ts";
import { protocolVersion } from "#shared/link/limits.ts";
import type { Report } from "#shared/link/report.ts";
import type { Link } from "../../../control-plane/link/link.ts";
import type { AgentSocket, KeptSession, SocketEvents } from "../../../control-plane/link/socket.ts";

type Closed = { code: number; reason: string } | "terminated";
type FrameOf<T extends DownFrame["type"]> = Extract<DownFrame, { type: T }>;

/** The agent's end of a socket, in memory: says what a test wants said and keeps what it was told, in order. */
export class FarEnd {
  readonly told: DownFrame[] = [];
  readonly closed: Promise<Closed>;
  instanceId: string = randomUUID();
  bufferedAmount = 0;
  /** Ended processes whose records it still has. */
  readonly remembers = new Set<string>();
  /** What the session had kept, for another memory to go on from. */
  kept: KeptSession | undefined;
  readonly #nodeId: string;
  #events: SocketEvents;
  readonly #close: (closed: Closed) => void;
  #read = 0;
  #wake = (): void => {};

  constructor(link: Pick<Link, "accept">, nodeId: string) {
    const closed = Promise.withResolvers<Closed>();
    this.closed = closed.promise;
    this.#close = closed.resolve;
    this.#nodeId = nodeId;
    this.#events = link.accept(nodeId, this.#socket());
  }

  /** Its session loses its memory while the socket stays; another link goes on with it. Whether it does. */
  async wake(link: Link): Promise<boolean> {
    if (this.kept === undefined) throw new Error("the session kept nothing");
    const events = await link.resume(this.#nodeId, this.#socket(), this.kept);
    this.#events = events ?? this.#events;
    return events !== undefined;
  }

  say(frame: UpFrame): void {
    this.sayText(JSON.stringify(frame));
  }

  sayText(text: string): void {
    this.#events.onText(text);
  }

  sayBinary(): void {
    this.#events.onBinary();
  }

  hello(change: Partial<Hello> = {}): void {
    const { instanceId } = this;
    const plain = { version: "0.0.1", machineId: "machine", bootId: "boot", facts: {}, inventory: [] };
    this.say({ type: "hello", protocol: protocolVersion, instanceId, ...plain, ...change });
  }

  report(...reports: (Partial<Report> & { id: string })[]): void {
    this.say({ type: "reports", reports: reports.map(reportOf) });
  }

  /** The next frame of this type that was not yet asked for; those before it are passed over. */
  async next<T extends DownFrame["type"]>(type: T): Promise<FrameOf<T>> {
    for (;;) {
      while (this.#read < this.told.length) {
        const frame = this.told[this.#read++];
        if (frame?.type === type) return frame as FrameOf<T>;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  all<T extends DownFrame["type"]>(type: T): FrameOf<T>[] {
    return this.told.filter((frame): frame is FrameOf<T> => frame.type === type);
  }

  /** The connection breaks. */
  cut(): void {
    this.#close("terminated");
    this.#events.onClose();
  }

  #recall({ rid, ids }: FrameOf<"recall">): void {
    this.say({ type: "reply", rid, value: { known: ids.filter((id) => this.remembers.has(id)) } });
  }

  #socket(): AgentSocket {
    const over = (closed: Closed): void => {
      this.#close(closed);
      queueMicrotask(() => this.#events.onClose());
    };
    const buffered = (): number => this.bufferedAmount;
    return {
      send: (text) => {
        const frame = downFrame.parse(JSON.parse(text));
        this.told.push(frame);
        this.#wake();
        if (frame.type === "recall") queueMicrotask(() => this.#recall(frame));
      },
      close: (code, reason) => over({ code, reason }),
      terminate: () => over("terminated"),
      keep: (kept) => void (this.kept = kept),
      get bufferedAmount() {
        return buffered();
      },
    };
  }
}

export const reportOf = (change: Partial<Report> & { id: string }): Report => ({
  ...{
    revision: 1,
    status: "running",
    reason: null,
    detail: null,
    exitCode: null,
    signal: null,
    pid: 7,
    cwd: "/",
  },
  ...{ startedAgeMs: 1000, exitedAgeMs: null, durationMs: null, totalBytes: 0, omittedBytes: 0, lines: 0 },
  ...{ survivors: [], snapshots: [] },
  ...change,
});

export const exited = (id: string, revision = 2): Report =>
  reportOf({ id, revision, status: "exited", exitCode: 0, exitedAgeMs: 10, durationMs: 990 });
