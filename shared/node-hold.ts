/** Why a node takes no start now: it drains, or it is leased to somebody else. */
export type Hold =
  | { by: "drain"; reason: string; deadlineAt: Date | null }
  | { by: "lease"; reason: string; expiresAt: Date };

/** What is known of a node's drain and lease; a lease is over from `leaseExpiresAt` on, cleared or not. */
export type Maintenance = {
  drainReason: string | null;
  drainDeadlineAt: Date | null;
  leaseId: string | null;
  leaseReason: string | null;
  leaseExpiresAt: Date | null;
};

export const drainOf = ({
  drainReason,
  drainDeadlineAt,
}: Maintenance): (Hold & { by: "drain" }) | undefined =>
  drainReason === null ? undefined : { by: "drain", reason: drainReason, deadlineAt: drainDeadlineAt };

export const leaseOf = (
  { leaseReason, leaseExpiresAt }: Maintenance,
  now: Date,
): (Hold & { by: "lease" }) | undefined =>
  leaseExpiresAt !== null && leaseExpiresAt > now
    ? { by: "lease", reason: leaseReason ?? "", expiresAt: leaseExpiresAt }
    : undefined;

/** What keeps a start off the node; a drain keeps all off, a lease those that do not name it. */
export const holdOn = (
  node: Maintenance,
  start: { leaseId: string | undefined; now: Date },
): Hold | undefined =>
  drainOf(node) ?? (node.leaseId === start.leaseId ? undefined : leaseOf(node, start.now));
