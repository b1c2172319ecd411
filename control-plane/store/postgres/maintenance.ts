import type { Nodes } from "../store.ts";
import type { Sql } from "./client.ts";
import { findNode } from "./node-rows.ts";
import { storable } from "./text.ts";

type Maintenance = Pick<Nodes, "setDrain" | "lease" | "release" | "leasesOver" | "clearLeases" | "rotateKey">;

export const maintenance = (sql: Sql): Maintenance => ({
  async setDrain(id, drain) {
    await sql`
      update nodes set
        drain_reason = ${storable(drain?.reason ?? null)}, drain_deadline_at = ${drain?.deadlineAt ?? null}
      where id = ${id}`;
    return findNode(sql, id);
  },

  async lease(id, { leaseId, heldId, reason, expiresAt, now }) {
    const [taken] = await sql<{ leaseId: string }[]>`
      update nodes set
        lease_id = case when ${isHeldBy(sql, heldId, now)} then lease_id else ${leaseId} end,
        lease_reason = ${storable(reason)}, lease_expires_at = ${expiresAt}
      where id = ${id} and (${isFree(sql, now)} or ${isHeldBy(sql, heldId, now)})
      returning lease_id`;
    const node = await findNode(sql, id);
    if (node === undefined) return undefined;
    if (taken === undefined) return { outcome: "taken", node };
    return { outcome: taken.leaseId === leaseId ? "leased" : "renewed", node };
  },

  async release(id, { heldId, now }) {
    const ended = await sql`
      update nodes set ${noLease(sql)}
      where id = ${id} and (${heldId === undefined}::boolean or ${isFree(sql, now)} or ${isHeldBy(sql, heldId, now)})
      returning id`;
    const node = await findNode(sql, id);
    return node && { outcome: ended.length > 0 ? "released" : "other", node };
  },

  async leasesOver(now) {
    const over = await sql<{ id: string }[]>`select id from nodes where lease_expires_at <= ${now}`;
    return over.map(({ id }) => id);
  },

  async clearLeases(ids, now) {
    await sql`update nodes set ${noLease(sql)} where id = any(${ids}) and lease_expires_at <= ${now}`;
  },

  async rotateKey(id, { from, to, epoch }) {
    const rotated = await sql`
      update nodes set key_hash = ${to} where id = ${id} and key_hash = ${from} and epoch = ${epoch} returning id`;
    return rotated.length > 0;
  },
});

const noLease = (sql: Sql) => sql`lease_id = null, lease_reason = null, lease_expires_at = null`;

const isFree = (sql: Sql, now: Date) => sql`(lease_expires_at is null or lease_expires_at <= ${now})`;

const isHeldBy = (sql: Sql, heldId: string | undefined, now: Date) =>
  sql`(lease_id = ${storable(heldId ?? null)} and lease_expires_at > ${now})`;
