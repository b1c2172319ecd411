import { readdirSync, statSync } from "node:fs";
import { isProcessId, type ProcessFolder, processFolder } from "./folder.ts";
import { isAlive } from "./proc-table.ts";
import { type Ending, noteFinal, readRecord, type RunRecord } from "./record.ts";

/**
 * What a data folder that was copied says of processes that had not ended: nothing. They belong to the folder that it was
 * copied from, on this machine or another one; there they may run on and end, and their records are written there. Only
 * where the shell that waits for a command writes into this very record is it this folder's (it was moved, or its file
 * system counts its files anew). All others are noted as lost, so that no pid in their records is ever looked at again.
 *
 * Endings in the records are true wherever they are read.
 */
export const disown = (procs: string, bootId: string): number => {
  let disowned = 0;
  for (const id of readdirSync(procs).filter(isProcessId)) {
    const folder = processFolder(procs, id);
    const record = readRecord(folder);
    if (!record || record.final || record.exit || writesHere(folder, record, bootId)) continue;
    noteFinal(folder, record.spec, elsewhere);
    disowned++;
  }
  return disowned;
};

const elsewhere: Ending = {
  status: "lost",
  reason: "agent_state_lost",
  detail:
    "the agent's data folder was copied or moved while this process ran: what became of it is not known here",
  exitCode: null,
  signal: null,
};

/** The descriptor on which a wrapper has its record open (see launch.ts). */
const recordFd = 3;

const writesHere = (folder: ProcessFolder, { spec, wrapper }: RunRecord, bootId: string): boolean => {
  if (spec.bootId !== bootId || !wrapper || !isAlive(wrapper)) return false;
  try {
    const open = statSync(`/proc/${wrapper.pid}/fd/${recordFd}`);
    const here = statSync(folder.run);
    return open.dev === here.dev && open.ino === here.ino;
  } catch {
    // Another user's process, or it went just now: not one that this agent could have charge of.
    return false;
  }
};
