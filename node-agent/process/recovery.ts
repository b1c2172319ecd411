import { readdirSync, rmSync } from "node:fs";
import { canceled, firstEnd, rebooted } from "./ending.ts";
import { knownCgroup } from "./cgroup.ts";
import { Child, type ChildNeeds } from "./child.ts";
import { type Final, readFinal } from "./final.ts";
import { type ProcessFolder, processFolder } from "./folder.ts";
import { readIntents } from "./intents.ts";
import { type ProcTable, scanProcs, tagOf } from "./proc-table.ts";
import { readRecord, type RunRecord, type Spec } from "./record.ts";

/**
 * What an agent that starts finds of an earlier one. Folder by folder, the first that holds:
 *
 *   final.acked                     over and stored: left for reading
 *   final                           ended: reported again
 *   no record or no wrapper line,
 *     nobody carries its tag        never started: the claim is given up, so that the start may come again
 *     somebody carries it           the wrapper is just beginning: adopted
 *   a whole `exit` line             ended while no agent watched
 *   another boot id                 lost: node_rebooted
 *   the wrapper lives               adopted; its limits go on from the record's own times
 *   the wrapper is gone             its members are swept; ended by the kill intent, else lost: wrapper_killed
 */
export const recover = (procs: string, needs: ChildNeeds, cgroup: string | undefined): Child[] => {
  const table = scanProcs();
  return readdirSync(procs)
    .filter((name) => /^[a-z]+_[0-9a-z]+$/.test(name))
    .flatMap((id) => recoverOne(processFolder(procs, id), needs, { table, cgroup }) ?? []);
};

const recoverOne = (
  folder: ProcessFolder,
  needs: ChildNeeds,
  world: { table: ProcTable; cgroup: string | undefined },
): Child | undefined => {
  const final = readFinal(folder);
  if (final) return final.acked ? undefined : fromFinal(folder, final.ending, needs);
  const record = readRecord(folder);
  // Before its first line the wrapper is the only process that carries the tag.
  const wrapper =
    record?.wrapper ?? world.table.entries.find((entry) => tagOf(entry.pid) === folder.id) ?? null;
  if (!record || !wrapper) return giveUp(folder, record, needs);
  const child = new Child(folder, record.spec, needs);
  child.tree.cgroup = knownCgroup(world.cgroup, folder.id);
  resume(child, { ...record, wrapper: { pid: wrapper.pid, startTicks: wrapper.startTicks } }, needs.bootId);
  return child;
};

/** An ending as an earlier agent wrote it, to be reported (again). */
export const fromFinal = (folder: ProcessFolder, final: Final, needs: ChildNeeds): Child => {
  const child = new Child(
    folder,
    specOf(folder.id, { bootId: final.bootId, cwd: final.cwd ?? "", output: final.output }),
    needs,
  );
  child.restore(final);
  child.watchSurvivors();
  return child;
};

const giveUp = (
  folder: ProcessFolder,
  record: RunRecord | undefined,
  needs: ChildNeeds,
): Child | undefined => {
  if (!record || !firstEnd(readIntents(folder))) {
    rmSync(folder.path, { recursive: true, force: true });
    return undefined;
  }
  const child = new Child(folder, record.spec, needs);
  child.conclude(canceled);
  return child;
};

const resume = (child: Child, record: RunRecord, bootId: string): void => {
  const intents = readIntents(child.folder);
  if (record.spec.bootId === bootId) return child.adopt(record, intents);
  child.conclude(record.exit ? child.endingBy(record.exit.code) : rebooted, record);
};

/** The least that is known of a process whose launch is not here. */
export const specOf = (id: string, known: Partial<Spec>): Spec => ({
  id,
  bootId: known.bootId ?? "",
  chatId: null,
  cwd: known.cwd ?? "",
  output: known.output ?? "merged",
  stdin: "none",
  claimedAt: 0,
  timeoutMs: null,
  idleTimeoutMs: null,
  idleOn: ["output", "cpu"],
  graceMs: 5000,
  logBytes: 64 * 1024 * 1024,
  outputBytes: null,
  keepDescendants: true,
});
