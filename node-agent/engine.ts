import type { z } from "zod";
import type { SignalName } from "#shared/signals.ts";
import type { StreamName } from "#shared/streams.ts";
import type { inventoryItem, Reply, requests } from "#shared/link/frames.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Report } from "#shared/link/report.ts";
import type { EndReason } from "#shared/process-state.ts";

export type InventoryItem = z.infer<typeof inventoryItem>;
export type EngineRequest<K extends keyof typeof requests> = z.infer<(typeof requests)[K]>;
export type EngineAnswer = { value: unknown } | { error: NonNullable<Reply["error"]> };

/** Bytes [from, to) of a stream; null where they are no longer kept. */
export type FollowedChunk = { from: number; to: number; bytes: Uint8Array | null };
export type Follower = { resume(): void; close(): void };

/** What the link asks of the processes of this node, and how it learns of them. */
export interface Engine {
  /** Everything alive, and endings not yet acknowledged. */
  inventory(): InventoryItem[];
  /** Idempotent: a start seen before only reports again. Calls back accepted(id) once the claim is on disk. */
  start(launch: Launch): void;
  stop(id: string, stop: { graceMs: number; reason: EndReason }): void;
  signal(id: string, signal: SignalName, scope: "tree" | "leader"): Promise<EngineAnswer>;
  stdin(id: string, bytes: Uint8Array, eof: boolean): Promise<EngineAnswer>;
  extend(id: string, timeoutMs: number): Promise<EngineAnswer>;
  read(request: EngineRequest<"read">): Promise<EngineAnswer>;
  grep(request: EngineRequest<"grep">, signal: AbortSignal): Promise<EngineAnswer>;
  wait(request: EngineRequest<"wait">, signal: AbortSignal): Promise<EngineAnswer>;
  ports(id: string): Promise<EngineAnswer>;
  /** Says again how these ended; answers of which there is a record. */
  recall(ids: string[]): Promise<EngineAnswer>;
  /**
   * Bytes of a stream from an offset as they are written; `send` returns false when the window is full,
   * then the follower pauses until `resume()`.
   */
  follow(
    id: string,
    stream: StreamName,
    from: number,
    send: (chunk: FollowedChunk) => boolean,
  ): Follower | undefined;
  /** Reports that the control plane has not acknowledged yet, complete and current, ages as of now. */
  pendingReports(): Report[];
  acknowledged(acks: { id: string; revision: number }[]): void;
  forget(ids: string[]): void;
  /** Called with ids whose report changed / that were accepted; set by the link. */
  onReport: (id: string) => void;
  onAccepted: (id: string) => void;
  report(id: string): Report | undefined;
  /** Leaves everything running, or ends it first, until `signal` aborts. */
  close(options: {
    stopProcesses: boolean;
    signal?: AbortSignal;
  }): Promise<{ left: number; stopped: number }>;
}
