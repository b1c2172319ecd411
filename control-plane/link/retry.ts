import { pause } from "#shared/pause.ts";

export type Persistence = {
  signal: AbortSignal;
  pauses: { first: number; longest: number };
  onFailure: (error: unknown) => void;
};

/** Tries until it works, with growing pauses; undefined when the signal aborts first. */
export async function persist<T>(
  work: () => Promise<T>,
  { signal, pauses, onFailure }: Persistence,
): Promise<{ value: T } | undefined> {
  for (let wait = pauses.first; !signal.aborted; wait = Math.min(wait * 2, pauses.longest)) {
    try {
      return { value: await work() };
    } catch (error) {
      onFailure(error);
    }
    await pause(wait, signal);
  }
  return undefined;
}
