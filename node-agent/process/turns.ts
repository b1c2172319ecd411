/** Runs jobs in the order they came, at most `atOnce` at a time. */
export const turns = (atOnce: number) => {
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  const next = (): void => {
    while (running < atOnce) {
      const job = waiting.shift();
      if (!job) return;
      running++;
      void job().finally(() => {
        running--;
        next();
      });
    }
  };
  return (job: () => Promise<void>): void => {
    waiting.push(job);
    next();
  };
};
