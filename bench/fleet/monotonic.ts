/** The machine's monotonic clock in milliseconds: the same in every process. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;
