const minuteMs = 60_000;

export type Counted = {
  /** Whether there is room for one more in this minute; one for which there is none is counted. */
  admit(now: Date): boolean;
  /** How many were left out since the last call. */
  takeLeftOut(): number;
};

/** Lets so many a minute through, at this control plane. */
export const perMinute = (most: number): Counted => {
  let minute = 0;
  let admitted = 0;
  let leftOut = 0;
  return {
    admit(now) {
      const current = Math.floor(now.getTime() / minuteMs);
      if (current !== minute) [minute, admitted] = [current, 0];
      if (admitted < most) admitted += 1;
      else {
        leftOut += 1;
        return false;
      }
      return true;
    },
    takeLeftOut() {
      const count = leftOut;
      leftOut = 0;
      return count;
    },
  };
};
