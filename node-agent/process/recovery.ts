import { readdirSync, rmSync } from "node:fs";
import { canceled, endingIn, firstEnd, rebooted } from "./ending.ts";
import { knownCgroup } from "./cgroup.ts";
import { Child, type ChildNeeds } from "./child.ts";
import { isProcessId, type ProcessFolder, processFolder } from "./folder.ts";
import { readIntents } from "./intents.ts";
import { type ProcTable, scanProcs, tagOf } from "./proc-table.ts";
import { readRecord, type RunRecord, type Spec } from "./record.ts";

/**
 * What an agent that starts finds of an earlier one. Folder by folder, the first that holds:
 *
 *   acked                           over and stored: left for reading
 *   an ending (exit or final)       ended, maybe while no agent watched: reported (again)
 *   no record or no wrapper line,
 *     nobody carries its tag        never started: the claim is given up, so that the start may come again, or
 *                                   canceled where a stop had been asked for
 *     somebody carries it           the wrapper is just beginning: adopted
 *   another boot id                 lost: node_rebooted
 *   the wrapper lives               adopted; its limits go on from the record's own times
 *   the wrapper is gone             its members are swept; ended by the kill intent, else lost: wrapper_killed
 */
export const recover = (procs: string, needs: ChildNeeds): Child[] => {
  const table = scanProcs();
  return readdirSync(procs)
    .filter(isProcessId)
    .flatMap((id) => recoverOne(processFolder(procs, id), needs, table) ?? []);
};

const recoverOne = (folder: ProcessFolder, needs: ChildNeeds, table: ProcTable): Child | undefined => {
  const record = readRecord(folder);
  if (record?.acked) return undefined;
  // Before its first line the wrapper is the only process that carries the tag.
  const wrapper = record?.wrapper ?? table.entries.find((entry) => tagOf(entry.pid) === folder.id) ?? null;
  if (!record || (!record.final && !wrapper)) return giveUp(folder, record, needs);
  const child = new Child(folder, record.spec, needs);
  child.tree.cgroup = knownCgroup(record.spec.cgroup);
  resume(
    child,
    { ...record, wrapper: wrapper && { pid: wrapper.pid, startTicks: wrapper.startTicks } },
    needs.bootId,
  );
  return child;
};

/** A process that ended and was stored, to be looked at or reported once more. */
export const recall = (folder: ProcessFolder, needs: ChildNeeds): Child | undefined => {
  const record = readRecord(folder);
  if (!record) return undefined;
  const child = new Child(folder, record.spec, needs);
  resume(child, record, needs.bootId);
  return child;
};

const giveUp = (
  folder: ProcessFolder,
  record: RunRecord | undefined,
  needs: ChildNeeds,
): Child | undefined => {
  if (!firstEnd(readIntents(folder))) {
    rmSync(folder.path, { recursive: true, force: true });
    return undefined;
  }
  // Half a record says nothing, and the ending needs a whole one.
  if (!record) rmSync(folder.run, { force: true });
  const child = new Child(folder, record?.spec ?? specOf(folder.id, { bootId: needs.bootId }), needs);
  child.conclude(canceled);
  return child;
};

const resume = (child: Child, record: RunRecord, bootId: string): void => {
  const intents = readIntents(child.folder);
  const ending = endingIn(record, intents);
  const sameBoot = record.spec.bootId === bootId;
  if (ending && !(record.exit && sameBoot)) return child.restore(record, ending);
  if (sameBoot) return child.adopt(record, intents);
  child.restore(record, rebooted);
};

/** The least that is known of a process whose launch is not here. */
export const specOf = (id: string, known: Partial<Spec>): Spec => ({
  id,
  bootId: known.bootId ?? "",
  chatId: null,
  cwd: known.cwd ?? "",
  output: known.output ?? "merged",
  stdin: "none",
  timeoutMs: null,
  idleTimeoutMs: null,
  idleOn: ["output", "cpu"],
  graceMs: 5000,
  logBytes: 64 * 1024 * 1024,
  outputBytes: null,
  keepDescendants: true,
  memBytes: null,
  cgroup: null,
});
