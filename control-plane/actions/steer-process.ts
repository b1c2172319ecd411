import * as z from "zod";
import type { signalBody, stdinBody } from "#shared/api/process.ts";
import { DroverError, invalid } from "#shared/errors.ts";
import { portsReply, stdinReply } from "#shared/link/frames.ts";
import type { Needs } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";
import { askNode } from "./ask-node.ts";
import { toBase64 } from "#shared/base64.ts";
import { isGone } from "./stop-process.ts";
import { ended, getProcess } from "./wait-final.ts";

const notRunning = (): DroverError =>
  new DroverError("process_not_running", "nothing of this process is running");

/** The process, if something of it may be alive on its node: the leader, or children that outlived it. */
const getAlive = async (needs: Needs, id: string): Promise<ProcessRow> => {
  const row = await getProcess(needs, id);
  if (isGone(row) || row.status === "queued") throw notRunning();
  return row;
};

const getLeaderAlive = async (needs: Needs, id: string): Promise<ProcessRow> => {
  const row = await getAlive(needs, id);
  if (ended(row)) throw notRunning();
  return row;
};

/** Sends a signal to the tree or the leader; answers the row as it is then. */
export const signalProcess = async (
  needs: Needs,
  id: string,
  sent: z.output<typeof signalBody>,
): Promise<ProcessRow> => {
  const row = await getAlive(needs, id);
  const frame = { type: "signal" as const, id, signal: sent.signal, scope: sent.scope };
  await askNode(needs, row.nodeId, { frame, answer: z.unknown(), field: "signal" });
  return getProcess(needs, id);
};

/** Writes to the open stdin of a process; answers how many bytes it took. */
export const writeStdin = async (
  needs: Needs,
  id: string,
  sent: z.output<typeof stdinBody>,
): Promise<number> => {
  if (sent.text === undefined && sent.b64 === undefined && !sent.eof)
    throw invalid([{ path: "text", message: "give text, b64 or eof" }]);
  const row = await getLeaderAlive(needs, id);
  if (row.launch.stdin !== "pipe")
    throw new DroverError("conflict", "the process was started without an open stdin");
  const b64 = sent.b64 ?? toBase64(new TextEncoder().encode(sent.text));
  const { writtenBytes } = await askNode(needs, row.nodeId, {
    frame: { type: "stdin", id, b64, eof: sent.eof },
    answer: stdinReply,
    field: "text",
  });
  return writtenBytes;
};

/** Sets a new hard limit, counted from the start of the process. */
export const extendTimeout = async (needs: Needs, id: string, timeoutMs: number): Promise<ProcessRow> => {
  const row = await getLeaderAlive(needs, id);
  await askNode(needs, row.nodeId, {
    frame: { type: "extend", id, timeoutMs },
    answer: z.unknown(),
    field: "timeoutMs",
  });
  const changed = await needs.store.processes.setTimeoutMs(id, timeoutMs);
  if (changed === undefined) throw new DroverError("not_found", "there is no such process");
  needs.bus.publish(`process:${id}`);
  return changed;
};

/** The ports on which members of the process listen. */
export const listPorts = async (needs: Needs, id: string): Promise<z.output<typeof portsReply>> => {
  const row = await getAlive(needs, id);
  return askNode(needs, row.nodeId, { frame: { type: "ports", id }, answer: portsReply, field: "id" });
};

/** Deletes an ended process and lets its node free what it keeps of it; answers what it was. */
export const deleteProcess = async (needs: Needs, id: string): Promise<ProcessRow> => {
  const row = await getProcess(needs, id);
  const outcome = await needs.store.processes.delete(id);
  if (outcome === "not_ended") throw new DroverError("conflict", "the process has not ended; stop it first");
  if (outcome === "unknown") throw new DroverError("not_found", "there is no such process");
  needs.hub.push(row.nodeId, { type: "forget", ids: [id] });
  needs.bus.publish(`process:${id}`);
  return row;
};
