/**
 * Runs one work at a time. Who asks during a run gets the next one, shared with all who ask meanwhile: it begins after the asking,
 * so it sees whatever made them ask.
 */
export function oneAtATime(): (work: () => Promise<void>) => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const run = (work: () => Promise<void>): Promise<void> => {
    const own = work().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  };

  return (work) => {
    if (running === undefined) return run(work);
    // However the run before ends, the next one is due.
    const before = running.catch(() => {});
    next ??= before.then(() => {
      next = undefined;
      return run(work);
    });
    return next;
  };
}
