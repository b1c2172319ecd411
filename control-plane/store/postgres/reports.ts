// A batch of reports is one statement, however many nodes sent them. The rule of each row stands in SQL, so two
// batches at once can not undo each other: a report counts only with a higher revision than the row's, and
// its state only where `mayAdvance` allows the step. The true ending of what was thought to have ended otherwise counts whatever its
// revision: it may come from the folder that another agent's was copied from, and each counts for itself.

import { finalStatuses, isFinal, saysItNeverRan } from "#shared/process-state.ts";
import { toBase64 } from "#shared/base64.ts";
import type { Processes, SentReport, TakenReports } from "../store.ts";
import type { Sql } from "./client.ts";
import { againOnDeadlock } from "./deadlock.ts";
import { allowedSteps } from "./process-rows.ts";
import { storable } from "./text.ts";

type Taken = { id: string } & Record<Mark, boolean>;

const neverRan = finalStatuses.filter(saysItNeverRan);

type Mark = keyof TakenReports;

export const reports = (sql: Sql): Pick<Processes, "takeReports"> => ({
  async takeReports(batch) {
    if (batch.length === 0) return { changed: [], unknown: [], unwanted: [], outdated: [] };
    const newest = newestOfEach(batch);
    const ids = newest.map(({ report }) => report.id);
    const text = JSON.stringify(newest.map(wireForm));
    const rows = await againOnDeadlock(() => takeAll(sql, ids, text));
    const marked = (mark: Mark) => rows.filter((row) => row[mark]).map(({ id }) => id);
    return {
      changed: marked("changed"),
      unknown: marked("unknown"),
      unwanted: marked("unwanted"),
      outdated: marked("outdated"),
    };
  },
});

/** One report a process, the newest; snapshots that only an older one brings are kept. In the order of ids. */
function newestOfEach(batch: SentReport[]): SentReport[] {
  const newest = new Map<string, SentReport>();
  for (const sent of batch.toSorted((a, b) => a.report.revision - b.report.revision)) {
    const { report } = sent;
    const before = newest.get(report.id)?.report.snapshots ?? [];
    const streams = new Set(report.snapshots.map(({ stream }) => stream));
    const kept = before.filter(({ stream }) => !streams.has(stream));
    newest.set(report.id, { ...sent, report: { ...report, snapshots: [...kept, ...report.snapshots] } });
  }
  return [...newest.values()].toSorted((a, b) => (a.report.id < b.report.id ? -1 : 1));
}

const wireForm = ({ nodeId, epoch, report: { snapshots, ...report } }: SentReport) => ({
  ...storable(report),
  nodeId,
  epoch,
  final: isFinal(report.status),
  snapshots: snapshots.map((each) => ({ ...each, head: toBase64(each.head), tail: toBase64(each.tail) })),
});

function takeAll(sql: Sql, ids: string[], text: string): Promise<Taken[]> {
  // The ids and "is true" keep the planner on the primary key, away from the index over all rows of the node.
  const ofNode = sql`(p.node_id = r."nodeId") is true`;
  const advances = sql`(p.status || '>' || r.status) = any(rule.allowed)`;
  const ended = sql`(p.concluded_at is not null or (r.final and ${advances}))`;
  // An agent that was just started knows of none until it has looked, and says `running` until then.
  const survivors = sql`case when r.final then r.survivors else p.survivors end`;
  return sql<Taken[]>`
    with sent as materialized (
      select * from json_to_recordset(${text}::text::json) as each (
        id text, "nodeId" text, epoch int, revision bigint, status text, final boolean, reason text, detail text, "exitCode" int, signal text,
        pid int, cwd text, "startedAt" timestamptz, "exitedAt" timestamptz, "durationMs" bigint,
        "observedAt" timestamptz, "totalBytes" bigint, "omittedBytes" bigint, lines bigint,
        survivors jsonb, snapshots json)
    ), report as materialized (
      select sent.* from sent join nodes n on n.id = sent."nodeId" and n.epoch = sent.epoch
    ), rule as (
      select ${allowedSteps}::text[] as allowed
    ), taken as (
      update processes p set
        revision = r.revision,
        status = case when ${advances} then r.status else p.status end,
        reason = case when ${advances} then r.reason else p.reason end,
        detail = case when ${advances} then r.detail else p.detail end,
        exit_code = case when ${advances} then r."exitCode" else p.exit_code end,
        signal = case when ${advances} then r.signal else p.signal end,
        exited_at = case when not (${advances}) then p.exited_at
          when r."exitedAt" is not null then greatest(r."exitedAt", p.started_at) end,
        duration_ms = case when ${advances} then r."durationMs" else p.duration_ms end,
        concluded_at = case when r.final and ${advances} then r."observedAt" else p.concluded_at end,
        pid = coalesce(r.pid, p.pid),
        cwd = coalesce(r.cwd, p.cwd),
        started_at = coalesce(p.started_at, r."startedAt"),
        observed_at = r."observedAt",
        total_bytes = r."totalBytes",
        omitted_bytes = r."omittedBytes",
        lines = r.lines,
        survivors = ${survivors},
        sealed = case when ${ended} then null else p.sealed end,
        stop = case when ${ended} and ${survivors} = '[]'::jsonb then null else p.stop end
      from report r, rule
      where p.id = any(${ids}) and p.id = r.id and ${ofNode}
        and (r.revision > p.revision or (p.concluded_at is not null and ${advances}))
      returning p.id
    ), kept as (
      insert into outputs (process_id, stream, head, tail, total_bytes)
      select r.id, s.stream, decode(s.head, 'base64'), decode(s.tail, 'base64'), s."totalBytes"
      from report r join taken using (id),
        json_to_recordset(r.snapshots) as s (stream text, head text, tail text, "totalBytes" bigint)
      on conflict (process_id, stream) do update
      set head = excluded.head, tail = excluded.tail, total_bytes = excluded.total_bytes
    )
    select r.id, taken.id is not null as changed, current.id is null as outdated,
      current.id is not null and p.id is null as unknown,
      current.id is not null and p.status = any(${neverRan}) and not r.final as unwanted
    from sent r
    left join report current on current.id = r.id
    left join taken on taken.id = r.id
    left join processes p on p.id = any(${ids}) and p.id = r.id and ${ofNode}`;
}
