import type { Leases } from "../cluster.ts";
import type { Sql } from "./client.ts";

/** A row a lease, by the clock of the database. A row that another one holds locked counts as taken: nobody waits. */
export const leaseStore = (sql: Sql): Leases => ({
  async take(name, holder, ttlMs) {
    const until = sql`now() + ${ttlMs} * interval '1 millisecond'`;
    const taken = await sql`
      with free as (
        select name from leases where name = ${name} and (until < now() or holder = ${holder}) for update skip locked)
      update leases set holder = ${holder}, until = ${until} from free where leases.name = free.name
      returning leases.name`;
    if (taken.length > 0) return true;
    const first = await sql`
      insert into leases (name, holder, until) values (${name}, ${holder}, ${until}) on conflict do nothing returning name`;
    return first.length > 0;
  },
});
