import * as z from "zod";

/** Limits that a start may ask for and not every node can hold; which ones it can, a node says in `enforces`. */
export const wallLimits = {
  /** Memory of the command and all that it starts, together. What passes it ends as `timed_out`/`mem_limit`. */
  memBytes: z
    .int()
    .min(1)
    .max(2 ** 50)
    .optional(),
  /** CPU time of all of it together; 100 is one core. */
  cpuPct: z.int().min(1).max(100_000).optional(),
  /** How many processes and threads of it may live at once; above that none can be started. */
  pids: z
    .int()
    .min(1)
    .max(2 ** 22)
    .optional(),
};
export type WallLimit = keyof typeof wallLimits;
export const wallLimitNames = ["memBytes", "cpuPct", "pids"] as const satisfies readonly WallLimit[];

/** Stands in `enforces` beside `memBytes` where memory is only looked at now and then, so that a command may pass the limit for a moment. */
export const memorySampled = "memBytes:sampled";

/** Stands in `enforces` where commands can run as another user than the agent. */
export const otherUsers = "user";

/** Stands in `enforces` where the node can keep commands in a sandbox, if its policy says so. */
export const sandboxes = "bwrap";

/** What a start asks of its node, however it is written down. */
export type Asked = { readonly [Name in WallLimit]?: number | null | undefined } & {
  /** Another user than the agent's own. */
  readonly user?: string | null | undefined;
};

/** The first thing asked for that a node cannot hold which says that it `enforces` these; the field as the API names it. */
export const unheldField = (asked: Asked, enforces: readonly string[]): string | undefined => {
  if (isGiven(asked.user) && !enforces.includes(otherUsers)) return "user";
  const name = wallLimitNames.find((limit) => isGiven(asked[limit]) && !enforces.includes(limit));
  return name && `limits.${name}`;
};

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
