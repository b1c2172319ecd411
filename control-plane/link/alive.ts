import type { Report } from "#shared/link/report.ts";
import { isFinal } from "#shared/process-state.ts";
import type { inventoryItem } from "#shared/link/frames.ts";
import type { ProcessRow } from "../store/store.ts";
import type { z } from "zod";

export type InventoryItem = z.infer<typeof inventoryItem>;

/**
 * What is alive on one node, as its session knows it: the inventory of the hello, plus what was started since, less what ended.
 * A process that left survivors stays until a report lists none; an ending counts once it is stored.
 */
export class Alive {
  readonly #places = new Map<string, { confirmed: boolean; sentAt: Date | undefined }>();
  /** Confirmed by a word alone: the database knows nothing of it until a report is stored. */
  readonly #unreported = new Set<string>();

  get count(): number {
    return this.#places.size;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  confirmed(id: string): boolean {
    return this.#places.get(id)?.confirmed ?? false;
  }

  sentAt(id: string): Date | undefined {
    return this.#places.get(id)?.sentAt;
  }

  /** Starts that the node has, of which no report came. */
  get unreported(): string[] {
    return [...this.#unreported];
  }

  /** The database knows of these by now. */
  written(ids: string[]): void {
    for (const id of ids) this.#unreported.delete(id);
  }

  takeInventory(items: InventoryItem[]): void {
    for (const item of items) if (!isFinal(item.status)) this.confirm(item.id);
  }

  /** What the rows of the node tell of it, for a session whose memory was taken: as much as whoever has to fence must know. */
  takeRows(rows: ProcessRow[]): void {
    for (const { id, status, revision, createdAt } of rows) {
      if (status === "queued") continue;
      const confirmed = revision > 0 || status !== "starting";
      // A start that was confirmed by a word alone is never asked about: its row says so.
      this.#places.set(id, { confirmed, sentAt: createdAt });
    }
  }

  sent(id: string, now: Date): void {
    this.#places.set(id, { confirmed: this.confirmed(id), sentAt: now });
  }

  accepted(id: string): void {
    if (!this.confirmed(id)) this.#unreported.add(id);
    this.confirm(id);
  }

  confirm(id: string): void {
    this.#places.set(id, { confirmed: true, sentAt: this.sentAt(id) });
  }

  /** A report came: it proves that the agent has the process. */
  reported(report: Report): void {
    if (!hasEnded(report) || this.has(report.id)) this.confirm(report.id);
  }

  /** The report is stored: the database knows. Returns whether that frees a place. */
  stored(report: { id: string; status: Report["status"]; survivors: unknown[] }): boolean {
    this.#unreported.delete(report.id);
    return hasEnded(report) && this.#places.delete(report.id);
  }
}

const hasEnded = (report: { status: Report["status"]; survivors: unknown[] }): boolean =>
  isFinal(report.status) && report.survivors.length === 0;
