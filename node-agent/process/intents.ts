import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { endReasons } from "#shared/process-state.ts";
import type { ProcessFolder } from "./folder.ts";

/**
 * What Drover itself did to a process, a line each in the folder's `intent`, written before the signal goes out, so that
 * an agent that starts again knows why a process died: `end` (stop, timeout …; the first one counts) and `signal`
 * (sent on request).
 */
const intent = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("end"),
    status: z.enum(["killed", "timed_out", "canceled"]),
    reason: z.enum(endReasons),
    graceMs: z.number(),
  }),
  z.object({ kind: z.literal("signal"), signal: z.string() }),
]);
export type Intent = z.infer<typeof intent>;
export type EndIntent = Extract<Intent, { kind: "end" }>;

export const noteIntent = (folder: ProcessFolder, note: Intent): void => {
  try {
    appendFileSync(folder.intent, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  } catch (error) {
    // On a full disk the signal still has to go out; only an agent that dies before the ending would not know why.
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
};

/** Takes back that the process is to end with its agent: the next agent leaves it running. It has had its TERM, though. */
export const takeBackStop = (folder: ProcessFolder): void => {
  const kept = readIntents(folder).map((note): Intent => (isAgentStop(note) ? termSent : note));
  writeFileSync(folder.intent, kept.map((note) => `${JSON.stringify(note)}\n`).join(""), { mode: 0o600 });
};

const termSent: Intent = { kind: "signal", signal: "TERM" };

/** Whether it is the end that a stop of the agent brings, which may be taken back. */
export const isAgentStop = (note: Intent): boolean => note.kind === "end" && note.reason === "agent_stopped";

export const readIntents = (folder: ProcessFolder): Intent[] => {
  try {
    return readFileSync(folder.intent, "utf8")
      .split("\n")
      .flatMap((line) => {
        const parsed = intent.safeParse(line === "" ? undefined : safeJson(line));
        return parsed.success ? [parsed.data] : [];
      });
  } catch {
    // No file: Drover did nothing to it.
    return [];
  }
};

const safeJson = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    // Half a line, cut by the agent's death: the signal had not gone out.
    return undefined;
  }
};
