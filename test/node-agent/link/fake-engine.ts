import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import type { Engine, EngineAnswer, FollowedChunk, InventoryItem } from "../../../node-agent/engine.ts";

export const reportOf = (id: string, revision: number, more: Partial<Report> = {}): Report => ({
  id,
  revision,
  status: "running",
  reason: null,
  detail: null,
  exitCode: null,
  signal: null,
  pid: 1,
  cwd: "/",
  startedAgeMs: 1,
  exitedAgeMs: null,
  durationMs: null,
  totalBytes: 0,
  omittedBytes: 0,
  lines: 0,
  survivors: [],
  snapshots: [],
  ...more,
});

type Send = (chunk: FollowedChunk) => boolean;

/** Processes that are only said to be: what the link asks is written down, what it is told is decided by the test. */
export class FakeEngine implements Engine {
  readonly calls: { name: string; args: unknown[] }[] = [];
  readonly reports = new Map<string, Report>();
  readonly followers = new Map<string, { send: Send; resumed: number; closed: boolean; from: number }>();
  answer: (name: string, signal?: AbortSignal) => Promise<EngineAnswer> = () =>
    Promise.resolve({ value: {} });
  onReport: (id: string) => void = () => undefined;
  onAccepted: (id: string) => void = () => undefined;
  /** Ids that can be followed. */
  readonly followable = new Set<string>();

  /** A report changed. */
  change(report: Report): void {
    this.reports.set(report.id, report);
    this.onReport(report.id);
  }

  #call(name: string, ...args: unknown[]): void {
    this.calls.push({ name, args });
  }
  inventory(): InventoryItem[] {
    return [...this.reports.values()].map(({ id, status, revision }) => ({ id, status, revision }));
  }
  start(launch: Launch): void {
    this.#call("start", launch.id);
    if (launch.id === "proc_broken") throw new Error("this start breaks");
    this.followable.add(launch.id);
    this.onAccepted(launch.id);
  }
  stop(id: string, stop: object): void {
    this.#call("stop", id, stop);
  }
  #ask(name: string, args: unknown[], signal?: AbortSignal): Promise<EngineAnswer> {
    this.#call(name, ...args);
    return this.answer(name, signal);
  }
  signal = (...args: unknown[]) => this.#ask("signal", args);
  stdin = (id: string, bytes: Uint8Array, eof: boolean) =>
    this.#ask("stdin", [id, Buffer.from(bytes).toString("utf8"), eof]);
  extend = (...args: unknown[]) => this.#ask("extend", args);
  read = (request: object) => this.#ask("read", [request]);
  grep = (request: object, signal: AbortSignal) => this.#ask("grep", [request], signal);
  wait = (request: object, signal: AbortSignal) => this.#ask("wait", [request], signal);
  ports = (...args: unknown[]) => this.#ask("ports", args);
  recall = (...args: unknown[]) => this.#ask("recall", args);
  follow(id: string, _stream: string, from: number, send: Send) {
    if (!this.followable.has(id)) return undefined;
    const follower = { send, resumed: 0, closed: false, from };
    this.followers.set(id, follower);
    return { resume: () => void follower.resumed++, close: () => void (follower.closed = true) };
  }
  pendingReports(): Report[] {
    return [...this.reports.values()];
  }
  acknowledged(acks: { id: string; revision: number }[]): void {
    this.#call("acknowledged", acks);
    for (const { id, revision } of acks)
      if (this.reports.get(id)?.revision === revision) this.reports.delete(id);
  }
  forget(ids: string[]): void {
    this.#call("forget", ids);
  }
  report(id: string): Report | undefined {
    return this.reports.get(id);
  }
  close() {
    return Promise.resolve({ left: 0, stopped: 0 });
  }
}
