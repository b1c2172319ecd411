import type { FanoutGroupRow, Fanouts, KeptOutput } from "../fanouts.ts";
import type { Sql } from "./client.ts";
import { seesFanoutNode } from "./sight.ts";

/**
 * The tables `each`, `hashed` and `digests` (process_id, digest) for a `with` that has the processes of `ended`. The
 * digest of one merged stream that is kept whole is the plain SHA-256 of its bytes; where the middle is not kept the length
 * is hashed too; two streams are hashed as a list of their names and digests.
 */
export const digestsOf = (sql: Sql, ended: ReturnType<Sql>) => sql`
  each as (
    select o.process_id, o.stream, o.total_bytes,
      o.head || substr(o.tail, greatest(0, length(o.head) + length(o.tail) - o.total_bytes)::int + 1) as bytes
    from ${ended} join outputs o using (process_id) where o.total_bytes > 0
  ), hashed as (
    select process_id, stream, encode(sha256(
      case when length(bytes) >= total_bytes then bytes else bytes || convert_to(total_bytes::text, 'UTF8') end), 'hex') as hex
    from each
  ), digests as (
    select process_id, case
      when count(hex) = 0 then encode(sha256(''::bytea), 'hex')
      when count(hex) = 1 and min(stream) = 'merged' then min(hex)
      else encode(sha256(convert_to(string_agg(stream || ' ' || hex, ' ' order by stream), 'UTF8')), 'hex') end as digest
    from ${ended} left join hashed using (process_id) group by process_id
  )`;

type Folded = FanoutGroupRow & { groupCount: number };
type Kept = KeptOutput & { processId: string };

export const output = (sql: Sql): Pick<Fanouts, "groups" | "kept"> => ({
  async groups(id, bounds) {
    const found = await sql<Folded[]>`
      select count(*) as count, status, exit_code, sha256, count(*) over () as group_count,
        to_json((array_agg(node_name order by position))[1:${bounds.names}::int]) as nodes,
        (array_agg(process_id order by position))[1] as process_id
      from fanout_nodes where fanout_id = ${id} and sha256 is not null and ${seesFanoutNode(sql, bounds.within)}
      group by status, exit_code, sha256
      order by count(*) desc, min(position) limit ${bounds.groups}`;
    const groups = found.map(({ groupCount: _groupCount, ...group }) => group);
    return { groups, groupCount: found[0]?.groupCount ?? 0 };
  },

  async kept(processIds) {
    const found = await sql<Kept[]>`
      select p.id as process_id, o.stream, o.head, o.tail, o.total_bytes
      from processes p left join outputs o on o.process_id = p.id and o.total_bytes > 0
      where p.id = any(${processIds}) and p.total_bytes = (
        select coalesce(sum(total_bytes), 0) from outputs where process_id = p.id)
      order by p.id, o.stream desc`;
    const kept = new Map<string, KeptOutput[]>();
    for (const { processId, ...stream } of found) {
      const streams = kept.get(processId) ?? [];
      kept.set(processId, stream.stream === null ? streams : [...streams, stream]);
    }
    return kept;
  },
});
