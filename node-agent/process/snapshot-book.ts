import type { StreamName } from "#shared/streams.ts";
import type { Snapshot } from "#shared/link/report.ts";
import { snapshotEveryMs } from "#shared/link/limits.ts";
import { type ProcessFolder, streamsOf } from "./folder.ts";
import { base64 } from "../base64.ts";
import { headTail, readGap, streamSize } from "./output.ts";

/**
 * Which head and tail of a process the control plane has. A report carries them when the stream has grown since the
 * last acknowledged one; while the process runs that is at most every two seconds.
 */
export class SnapshotBook {
  #folder: ProcessFolder;
  #streams: StreamName[];
  #storedBytes = 0;
  #lastReadMs = 0;
  #ackedRevision = 0;
  /** Revision → size it reported, until acknowledged. */
  #sent = new Map<number, number>();

  constructor(folder: ProcessFolder, output: "merged" | "split") {
    this.#folder = folder;
    this.#streams = streamsOf(output);
  }

  totalBytes(): number {
    return this.#streams.reduce((sum, stream) => sum + streamSize(this.#folder, stream), 0);
  }

  omittedBytes(): number {
    return this.#streams.reduce((sum, stream) => sum + this.#gapBytes(stream), 0);
  }

  #gapBytes(stream: StreamName): number {
    const gap = readGap(this.#folder, stream);
    return gap.to - gap.from;
  }

  /** Whether the stored head and tail are old enough, and behind. */
  due(): boolean {
    return performance.now() - this.#lastReadMs >= snapshotEveryMs && this.behind();
  }

  /** Whether the stored head and tail lack what was written since. */
  behind(): boolean {
    return this.totalBytes() !== this.#storedBytes;
  }

  read(revision: number): {
    totalBytes: number;
    omittedBytes: number;
    lines: number | null;
    snapshots: Snapshot[];
  } {
    const views = this.#streams.map((stream) => ({ stream, ...headTail(this.#folder, stream) }));
    const totalBytes = views.reduce((sum, view) => sum + view.totalBytes, 0);
    const lines = views.reduce<number | null>(
      (sum, view) => (sum === null || view.lines === null ? null : sum + view.lines),
      0,
    );
    this.#lastReadMs = performance.now();
    // Read twice at one revision, only the first counts: which of the two was stored is not known. One that is stored is
    // acknowledged again when it is told again on a new line, and what it brings then is not stored.
    if (revision > this.#ackedRevision && !this.#sent.has(revision)) this.#sent.set(revision, totalBytes);
    const snapshots = totalBytes === this.#storedBytes ? [] : views.map(asSnapshot);
    return { totalBytes, omittedBytes: this.omittedBytes(), lines, snapshots };
  }

  /** Revision -1 forgets what was stored. */
  acknowledged(revision: number): void {
    this.#storedBytes = this.#sent.get(revision) ?? (revision < 0 ? 0 : this.#storedBytes);
    this.#ackedRevision = revision < 0 ? 0 : Math.max(this.#ackedRevision, revision);
    for (const sent of this.#sent.keys()) if (sent <= revision) this.#sent.delete(sent);
  }
}

const asSnapshot = (view: {
  stream: StreamName;
  head: Uint8Array;
  tail: Uint8Array;
  totalBytes: number;
}): Snapshot => ({
  stream: view.stream,
  head: base64(view.head),
  tail: base64(view.tail),
  totalBytes: view.totalBytes,
});
