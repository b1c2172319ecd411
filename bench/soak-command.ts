// The commands of the soak and what must be told of each: of ten, one writes 1 MB, one dies by a signal, one runs into
// its limit, and seven end by themselves with a code.

const megabyte = 1_000_000;
const signals = ["KILL", "TERM", "HUP", "SEGV", "USR1"] as const;

export function soakCommand(index: number): Record<string, unknown> {
  switch (index % 10) {
    case 1:
      return { command: `head -c ${megabyte} /dev/zero | tr '\\0' x` };
    case 2:
      return { command: `echo before; kill -${signalOf(index)} $$` };
    case 3:
      return { command: "echo before; exec sleep 60", timeoutMs: 500, graceMs: 2000 };
    default:
      return { command: `echo ${index}; exit ${codeOf(index)}` };
  }
}

export type Ending = {
  status: string;
  reason: string | null;
  exitCode: number | null;
  signal: string | null;
  bytes: number;
};

export function expected(index: number): Ending {
  const exited = { status: "exited", reason: null, exitCode: null, signal: null };
  const before = "before\n".length;
  switch (index % 10) {
    case 1:
      return { ...exited, exitCode: 0, bytes: megabyte };
    case 2:
      return { ...exited, signal: signalOf(index), bytes: before };
    case 3:
      return { status: "timed_out", reason: "hard_timeout", exitCode: null, signal: "TERM", bytes: before };
    default:
      return { ...exited, exitCode: codeOf(index), bytes: `${index}\n`.length };
  }
}

const signalOf = (index: number): string => signals[Math.floor(index / 10) % signals.length] ?? "KILL";
// 137 and its like are codes here, not deaths.
const codeOf = (index: number): number => [0, 1, 2, 42, 126, 137, 143, 255][index % 8] ?? 0;
