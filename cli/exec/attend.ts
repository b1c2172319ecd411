// Standing in for a process that runs elsewhere: its bytes on our stdout and stderr, our stdin and Ctrl-C to it, and its
// ending as ours (never as success where bytes are missing). Over when the process itself is (`exit`), not when what it left behind is: like a shell.
//
// Ctrl-C: the first is INT for the whole tree, as a terminal gives it; the second stops it (TERM, grace, KILL); the
// third leaves it to its fate. TERM and HUP stop it at once. When nobody reads our stdout any more, it is stopped as well.

import type { ProcessView } from "#shared/api/process.ts";
import type { NodeView } from "#shared/api/node.ts";
import type { Client } from "../../sdk/client.ts";
import { followProcess, type ExitEvent, type OutputEvent, type ProcessEvent } from "../../sdk/events.ts";
import { ask } from "../connection.ts";
import { exitCodeOf, exitCodes, signalNumber } from "../exit-code.ts";
import type { Press } from "../interrupts.ts";
import { Failed } from "../verb.ts";
import { stderrFd, stdoutFd, tell, writeAll } from "../write.ts";

/** Follows a process to its ending and answers the exit code that tells it. */
export async function attend(client: Client, id: string, signal: AbortSignal): Promise<number> {
  let isWhole = true;
  for await (const event of followProcess(client, id, { signal })) {
    if (event.type === "exit") {
      const code = await tellEnding(client, id, event);
      return isWhole ? code : code || exitCodes.drover;
    }
    if (event.type === "gap") isWhole = false;
    if (event.type === "failed")
      throw new Failed(`${event.failure.message}; ${id} may still run`, exitCodes.drover);
    const left = await show(event);
    if (left === "gone") return abandon(client, id);
    if (event.type === "ping" && (await isOutOfReach(client, id)))
      throw new Failed(`the node of ${id} is offline; the process may still run there`, exitCodes.lost);
  }
  throw new Failed(`${id} was left alone`, exitCodes.drover);
}

/** Passes one press of Ctrl-C (or TERM, HUP) on; `before` counts the earlier ones. */
export async function passOn(client: Client, id: string, press: Press, before: number): Promise<void> {
  if (press === "INT" && before === 0) {
    const sent = await client.request("POST", `/v1/processes/${id}/signal`, { body: { signal: "INT" } });
    // A process that is not there yet cannot be signalled, but its start can be taken back.
    if (sent.ok || sent.failure.code !== "process_not_running") return;
  } else if (before === 1) await tell("drover: stopping it; once more leaves it alone");
  await stop(client, id);
}

const stop = async (client: Client, id: string): Promise<void> => {
  const stopped = await client.request("POST", `/v1/processes/${id}/stop`, { body: {} });
  if (!stopped.ok) await tell(`drover: ${id} may still run: ${stopped.failure.message}`);
};

async function abandon(client: Client, id: string): Promise<number> {
  await stop(client, id);
  return 128 + signalNumber("PIPE");
}

/** The bytes of an output event, exactly as the process wrote them. */
export const bytesOf = (event: OutputEvent): Uint8Array =>
  event.b64 === undefined ? Buffer.from(event.text ?? "", "utf8") : Buffer.from(event.b64, "base64");

async function show(event: ProcessEvent): Promise<"ok" | "gone"> {
  if (event.type === "output") {
    if (event.stream !== "stderr") return writeAll(stdoutFd, bytesOf(event));
    // Without a stderr the program itself goes on too.
    await writeAll(stderrFd, bytesOf(event));
  }
  if (event.type === "gap") await tell(`drover: ${event.to - event.from} bytes of output are not kept`);
  if (event.type === "interrupted") await tell(`drover: ${event.failure.message}; connecting again`);
  return "ok";
}

// Asked at each ping, so every 15 s at most and only while the process is silent.
async function isOutOfReach(client: Client, id: string): Promise<boolean> {
  const found = await client.request<ProcessView>("GET", `/v1/processes/${id}`);
  if (!found.ok || !found.value.stale) return false;
  const node = await client.request<NodeView>("GET", `/v1/nodes/${found.value.nodeId}`);
  return node.ok && node.value.status === "offline";
}

async function tellEnding(client: Client, id: string, ending: ExitEvent): Promise<number> {
  if (ending.status !== "exited") {
    const { detail } = await ask<ProcessView>(client, `GET /v1/processes/${id}`);
    const reason = ending.reason === null ? "" : ` (${ending.reason})`;
    await tell(
      `drover: ${id} ${ending.status.replace("_", " ")}${reason}${detail === null ? "" : `: ${detail}`}`,
    );
  }
  return exitCodeOf(ending);
}
