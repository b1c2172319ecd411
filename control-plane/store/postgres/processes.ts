import type { Processes, StoredOutput } from "../store.ts";
import { json, type Sql } from "./client.ts";
import { endings, removal } from "./endings.ts";
import { handOuts } from "./hand-outs.ts";
import { processColumns, processRow, unfinished, type ProcessRecord } from "./process-rows.ts";
import { reports } from "./reports.ts";
import { seesProcess } from "./sight.ts";
import { starts } from "./starts.ts";
import { stops } from "./stops.ts";

type Reading = Pick<Processes, "get" | "list" | "sealed" | "outputs" | "unfinished" | "setTimeoutMs">;

export const processStore = (sql: Sql): Processes => ({
  ...starts(sql),
  ...handOuts(sql),
  ...reports(sql),
  ...endings(sql),
  ...removal(sql),
  ...stops(sql),
  ...reading(sql),
});

const reading = (sql: Sql): Reading => ({
  async get(id, within) {
    const [found] = await sql<ProcessRecord[]>`
      select ${processColumns(sql)} from processes where id = ${id} and ${seesProcess(sql, within)}`;
    return found && processRow(found);
  },

  async list({ nodeId, chatId, fanoutId, statuses, labels, after, limit, within }) {
    const found = await sql<ProcessRecord[]>`
      select ${processColumns(sql)} from processes where ${seesProcess(sql, within)}
      ${nodeId === undefined ? sql`` : sql`and node_id = ${nodeId}`}
      ${chatId === undefined ? sql`` : sql`and chat_id = ${chatId}`}
      ${fanoutId === undefined ? sql`` : sql`and fanout_id = ${fanoutId}`}
      ${statuses === undefined ? sql`` : sql`and status = any(${statuses})`}
      ${hasLabels(labels) ? sql`and labels <> '{}'::jsonb and labels @> ${json(sql, labels)}` : sql``}
      ${after === undefined ? sql`` : sql`and id < ${after}`}
      order by id desc limit ${limit}`;
    return found.map(processRow);
  },

  async sealed(id) {
    const [found] = await sql<{ sealed: Uint8Array | null }[]>`select sealed from processes where id = ${id}`;
    return found?.sealed ?? null;
  },

  async outputs(id) {
    const found = await sql<StoredOutput[]>`
      select stream, head, tail, total_bytes from outputs where process_id = ${id} order by stream`;
    return [...found];
  },

  async unfinished(nodeId) {
    const found = await sql<ProcessRecord[]>`
      select ${processColumns(sql)} from processes where node_id = ${nodeId} and ${unfinished(sql)} order by id`;
    return found.map(processRow);
  },

  async setTimeoutMs(id, timeoutMs) {
    const [changed] = await sql<ProcessRecord[]>`
      update processes set launch = jsonb_set(launch, '{timeoutMs}', to_jsonb(${timeoutMs}::bigint))
      where id = ${id} returning ${processColumns(sql)}`;
    return changed && processRow(changed);
  },
});

const hasLabels = (labels: Record<string, string> | undefined): boolean =>
  labels !== undefined && Object.keys(labels).length > 0;
