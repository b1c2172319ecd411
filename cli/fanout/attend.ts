// Standing in for a fan-out: what its nodes write with their names before each line, at the end what became of all of them.
// Ctrl-C: the first cancels it, the second leaves it to its fate. When nobody reads our stdout any more it is canceled too.

import type { FanoutNodeView, FanoutView } from "#shared/api/fanout.ts";
import { isFinalFanout } from "#shared/fanout-state.ts";
import { onlyOnce, type Client } from "../../sdk/client.ts";
import { followFanout, type FanoutEvent } from "../../sdk/events.ts";
import { ask } from "../connection.ts";
import { bytesOf } from "../exec/attend.ts";
import { exitCodes, signalNumber } from "../exit-code.ts";
import { dieBy, listenForInterrupts } from "../interrupts.ts";
import { listAll } from "../list-all.ts";
import { printJson } from "../print.ts";
import { Failed } from "../verb.ts";
import { say, stderrFd, stdoutFd, tell, writeAll } from "../write.ts";
import { NodeLines } from "./node-lines.ts";
import { headOf, summaryOf } from "./summary.ts";

const lookMs = 60_000;
/** Names longer than this stand out of the row rather than move all others. */
const widestName = 24;

export type Manner = { detach: boolean; json: boolean };

/** Makes a fan-out and stands in for it; answers 0 only when every node succeeded. */
export async function runFanout(
  client: Client,
  body: Record<string, unknown>,
  { detach, json }: Manner,
): Promise<number> {
  const made = await ask<FanoutView>(client, "POST /v1/fanouts", { headers: onlyOnce(), body });
  if (detach) {
    if (json) await printJson(made);
    else await say(made.id);
    return exitCodes.ok;
  }
  const interrupts = listenForInterrupts((press, before) => {
    if (before > 0) return dieBy(press);
    void cancel(client, made.id);
  });
  try {
    return json ? await showEnd(client, made.id) : await attend(client, made.id);
  } finally {
    interrupts.close();
  }
}

async function cancel(client: Client, id: string): Promise<void> {
  await tell(`drover: canceling ${id}; once more leaves it alone`);
  const canceled = await client.request("POST", `/v1/fanouts/${id}/cancel`);
  if (!canceled.ok) await tell(`drover: ${id} may go on: ${canceled.failure.message}`);
}

async function showEnd(client: Client, id: string): Promise<number> {
  for (;;) {
    const view = await ask<FanoutView>(client, `GET /v1/fanouts/${id}`, {
      query: { waitMs: lookMs },
      waitMs: lookMs,
    });
    if (!isFinalFanout(view.status)) continue;
    await printJson(view);
    return exitCodeOf(view);
  }
}

const exitCodeOf = ({ status }: Pick<FanoutView, "status">): number =>
  status === "succeeded" ? exitCodes.ok : 1;

async function attend(client: Client, id: string): Promise<number> {
  const nodes = await listAll<FanoutNodeView>(client, `/v1/fanouts/${id}/nodes`, {});
  const width = Math.min(widestName, Math.max(...nodes.map(({ node }) => node.length)));
  const lines = new NodeLines(width);
  for await (const event of followFanout(client, id)) {
    if (event.type === "failed")
      throw new Failed(`${event.failure.message}; ${id} may go on`, exitCodes.drover);
    if ((await show(event, lines, id)) === "gone") {
      await cancel(client, id);
      return 128 + signalNumber("PIPE");
    }
  }
  const view = await ask<FanoutView>(client, `GET /v1/fanouts/${id}`);
  const all = await listAll<FanoutNodeView>(client, `/v1/fanouts/${id}/nodes`, {});
  await tell(
    summaryOf(
      view,
      all.filter(({ sha256 }) => sha256 === null),
    ),
  );
  return exitCodeOf(view);
}

async function show(event: FanoutEvent, lines: NodeLines, id: string): Promise<"ok" | "gone"> {
  switch (event.type) {
    case "output":
      return write(event.stream, lines.take(event.node, event.stream, bytesOf(event)));
    case "node":
      return showRest(event.node, lines);
    case "gap":
      await tell(`drover: ${event.to - event.from} bytes of the output of ${event.node} are not kept`);
      return "ok";
    case "status":
      if (event.status === "paused")
        await tell(`drover: ${headOf({ ...event, id })}; go on with \`drover fanout resume ${id}\``);
      return "ok";
    case "interrupted":
      await tell(`drover: ${event.failure.message}; connecting again`);
      return "ok";
    default:
      return "ok";
  }
}

async function showRest(node: string, lines: NodeLines): Promise<"ok" | "gone"> {
  for (const stream of ["merged", "stdout", "stderr"])
    if ((await write(stream, lines.rest(node, stream))) === "gone") return "gone";
  return "ok";
}

async function write(stream: string, bytes: Buffer): Promise<"ok" | "gone"> {
  if (bytes.length === 0) return "ok";
  if (stream !== "stderr") return writeAll(stdoutFd, bytes);
  // Without a stderr it goes on too.
  await writeAll(stderrFd, bytes);
  return "ok";
}
