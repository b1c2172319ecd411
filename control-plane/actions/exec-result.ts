import type { z } from "zod";
import type { execResult, textResult } from "#shared/api/process.ts";
import type { StreamName } from "#shared/streams.ts";
import { headTailView } from "#shared/output/head-tail.ts";
import { snapshotBytes } from "#shared/link/limits.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { readOutput } from "./read-output.ts";
import { ended } from "./wait-final.ts";
import { storedOf } from "./stored-output.ts";

type TextResult = z.output<typeof textResult>;

/** Head and tail of what a process wrote. The row must have been read before: its ending then covers this output. */
export const resultOf = async (needs: Needs, row: ProcessRow): Promise<z.output<typeof execResult>> => {
  const read = ended(row)
    ? await endedResult(needs, row)
    : (stream: StreamName) => liveResult(needs, row, stream);
  if (row.launch.output === "merged") return read("merged");
  const [stdout, stderr] = await Promise.all([read("stdout"), read("stderr")]);
  return { stdout, stderr };
};

// The store has head and tail of an ending: the node is not asked.
const endedResult = async (needs: Needs, row: ProcessRow) => {
  const outputs = row.totalBytes === 0 ? [] : await needs.store.processes.outputs(row.id);
  return (stream: StreamName): TextResult => {
    const { head, tail, totalBytes } = storedOf(row, outputs, stream);
    const { text, truncated } = headTailView({
      totalBytes,
      head,
      tail,
      headBytes: head.length,
      tailBytes: tail.length,
    });
    return { text, truncated };
  };
};

const liveResult = async (needs: Needs, row: ProcessRow, stream: StreamName): Promise<TextResult> => {
  const view = { view: "headtail", headBytes: snapshotBytes, tailBytes: snapshotBytes } as const;
  const { text, truncated } = await readOutput(needs, { row, stream }, view);
  return { text, truncated };
};
