import type { Report } from "#shared/link/report.ts";
import type { Engine } from "../engine.ts";
import type { AgentSocket } from "./socket.ts";

/**
 * Reports on their way to the control plane.
 *
 * A report is complete, so of one process only the newest is worth sending: a change only marks the process, and the
 * report is made when it is sent, many to a frame. It is sent again on the next socket, or when no acknowledgement
 * came for a while. Nothing is kept here that the engine could not tell again.
 */
export const maxFrameChars = 4 * 1024 * 1024;
export const maxQueuedBytes = 8 * 1024 * 1024;
const maxReportsAFrame = 1000;

type Sent = { revision: number; isOld: boolean };

export class Outbox {
  readonly #engine: Pick<Engine, "report" | "inventory">;
  readonly #onSend: (id: string) => void;
  readonly #marked = new Set<string>();
  readonly #sent = new Map<string, Sent>();
  #socket: AgentSocket | undefined;
  #isScheduled = false;
  #onSettled: (() => void)[] = [];

  /** `onSend` hears of each process that a report goes out for. */
  constructor(engine: Pick<Engine, "report" | "inventory">, onSend: (id: string) => void) {
    this.#engine = engine;
    this.#onSend = onSend;
  }

  /** Starts over on a new socket: everything alive or not acknowledged is sent. */
  attach(socket: AgentSocket): void {
    this.#socket = socket;
    this.#isScheduled = false;
    this.#sent.clear();
    for (const { id } of this.#engine.inventory()) this.#marked.add(id);
    this.#schedule();
  }

  detach(): void {
    this.#socket = undefined;
    this.#sent.clear();
  }

  /** Something changed for this process. */
  changed(id: string): void {
    this.#marked.add(id);
    this.#schedule();
  }

  acknowledged(acks: { id: string; revision: number }[]): void {
    for (const { id, revision } of acks)
      if ((this.#sent.get(id)?.revision ?? Infinity) <= revision) this.#sent.delete(id);
    this.#tellSettled();
  }

  forget(ids: string[]): void {
    for (const id of ids) {
      this.#marked.delete(id);
      this.#sent.delete(id);
    }
    this.#tellSettled();
  }

  /** Sends again what has waited for its acknowledgement since before the last call. */
  repeat(): void {
    for (const [id, entry] of this.#sent) {
      if (entry.isOld) this.#marked.add(id);
      entry.isOld = true;
    }
    this.#schedule();
  }

  /** Resolves when nothing is left to be sent or acknowledged. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled.push(resolve);
      this.#tellSettled();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#socket === undefined || this.#marked.size === 0) return;
    this.#isScheduled = true;
    const socket = this.#socket;
    // After the events of this turn: a burst of changes becomes one frame.
    socket.whenBelow(maxQueuedBytes, () => {
      if (socket === this.#socket) this.#flush(socket);
    });
  }

  #flush(socket: AgentSocket): void {
    this.#isScheduled = false;
    while (this.#marked.size > 0 && socket.queuedBytes() <= maxQueuedBytes) this.#sendFrame(socket);
    this.#schedule();
    this.#tellSettled();
  }

  #sendFrame(socket: AgentSocket): void {
    const texts: string[] = [];
    let chars = 0;
    for (const id of this.#marked) {
      if (texts.length === maxReportsAFrame) break;
      const report = this.#engine.report(id);
      const text = report === undefined ? "" : bounded(report);
      if (texts.length > 0 && chars + text.length > maxFrameChars) break;
      this.#marked.delete(id);
      if (report === undefined) continue;
      this.#sent.set(id, { revision: report.revision, isOld: false });
      this.#onSend(id);
      texts.push(text);
      chars += text.length;
    }
    if (texts.length > 0) socket.sendText(`{"type":"reports","reports":[${texts.join(",")}]}`);
  }

  #tellSettled(): void {
    if (this.#marked.size > 0 || this.#sent.size > 0) return;
    for (const tell of this.#onSettled) tell();
    this.#onSettled = [];
  }
}

/** A report as JSON; one that no frame could hold loses what can be asked for by itself. */
function bounded(report: Report): string {
  const text = JSON.stringify(report);
  return text.length <= maxFrameChars ? text : JSON.stringify({ ...report, survivors: [], snapshots: [] });
}
