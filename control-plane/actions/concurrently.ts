/** Does `work` for each item, at most `limit` at once; the first failure rejects after the others have ended. */
export const concurrently = async <T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, lane));
  for (const each of lanes) if (each.status === "rejected") throw each.reason;
};
