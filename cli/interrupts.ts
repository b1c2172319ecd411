// Ctrl-C, counted. One key press may arrive more than once: the terminal signals the whole foreground group, and npm or
// npx in front of us pass on what they got. Repeats within `echoMs` are therefore the same press.

export type Press = "INT" | "TERM" | "HUP";

const echoMs = 250;

export type Interrupts = {
  /** Gives the signals back to their default meaning. */
  close(): void;
};

/** Calls `onPress` for each INT, TERM or HUP that this program gets, with how many came before it. */
export function listenForInterrupts(onPress: (press: Press, before: number) => void): Interrupts {
  let before = 0;
  let lastAt = -Infinity;
  const on = (press: Press) => (): void => {
    const now = performance.now();
    const isEcho = now - lastAt < echoMs;
    lastAt = now;
    if (!isEcho) onPress(press, before++);
  };
  const listeners = (["INT", "TERM", "HUP"] as const).map((press) => [`SIG${press}`, on(press)] as const);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return {
    close: () => {
      for (const [signal, listener] of listeners) process.off(signal, listener);
    },
  };
}

/** Ends this program by the signal itself, as its default meaning does; nothing that still hangs can hold it up. */
export function dieBy(press: Press): void {
  process.removeAllListeners(`SIG${press}`);
  process.kill(process.pid, `SIG${press}`);
}

export type Presses = Interrupts & { first: Promise<Press>; second: Promise<Press> };

/** The first two presses as promises; a third one ends this program. */
export function countPresses(): Presses {
  const first = Promise.withResolvers<Press>();
  const second = Promise.withResolvers<Press>();
  const interrupts = listenForInterrupts((press, before) => {
    if (before === 0) first.resolve(press);
    else if (before === 1) second.resolve(press);
    else dieBy(press);
  });
  return { ...interrupts, first: first.promise, second: second.promise };
}
