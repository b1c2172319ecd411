import { readdirSync, readFileSync } from "node:fs";

/**
 * What /proc says of the processes of this machine. A pid alone is never trusted: it is paired with the moment of birth
 * (field 22 of its stat line, in clock ticks since boot), since pids are used again.
 */
export type ProcEntry = {
  pid: number;
  ppid: number;
  group: number;
  session: number;
  state: string;
  startTicks: number;
  /** CPU time in ticks: own and of children it waited for. */
  cpuTicks: number;
  name: string;
};

const read = (file: string): string | undefined => {
  try {
    return readFileSync(`/proc/${file}`, "latin1");
  } catch {
    // The process ended, or belongs to somebody else: it is not there for us.
    return undefined;
  }
};

export const parseStat = (text: string): ProcEntry => {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const field = text.slice(close + 2).split(" ");
  const number = (n: number) => Number(field[n - 3]);
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    state: field[0] ?? "?",
    ppid: number(4),
    group: number(5),
    session: number(6),
    startTicks: number(22),
    cpuTicks: number(14) + number(15) + number(16) + number(17),
  };
};

/** One process now; undefined when there is none. */
export const procEntry = (pid: number): ProcEntry | undefined => {
  const text = read(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
};

/** Whether this very process still lives; a zombie does not. */
export const isAlive = ({ pid, startTicks }: { pid: number; startTicks: number }): boolean => {
  const entry = procEntry(pid);
  return entry !== undefined && entry.startTicks === startTicks && entry.state !== "Z" && entry.state !== "X";
};

export const allPids = (): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);

/** The pid that was given out last. */
export const lastPid = (): number => Number(read("loadavg")?.split(" ").at(-1));

/** All processes but zombies and threads of the kernel, and when they were looked at (ticks since boot). */
export type ProcTable = { atTicks: number; entries: ProcEntry[] };

export const scanProcs = (): ProcTable => ({
  atTicks: uptime() * ticksPerSecond,
  entries: allPids().flatMap((pid) => {
    const entry = procEntry(pid);
    return entry && entry.state !== "Z" && entry.state !== "X" && entry.ppid !== 2 ? [entry] : [];
  }),
});

/** Whether anybody has this group, a zombie included. */
export const groupLives = (group: number): boolean => {
  // Never 0 or 1: those would be the agent's own group, or everybody.
  if (group <= 1) return false;
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** The command line as one text, or the name where there is none. */
export const commandOf = (entry: ProcEntry): string =>
  read(`${entry.pid}/cmdline`)?.replace(/\0$/, "").replaceAll("\0", " ").slice(0, 200) || `[${entry.name}]`;

const tagName = "DROVER_PROCESS_ID=";

/** The id of the Drover process whose environment this one inherited. */
export const tagOf = (pid: number): string | undefined => {
  const environment = read(`${pid}/environ`);
  if (environment === undefined) return undefined;
  const at = environment.startsWith(tagName) ? 0 : environment.indexOf(`\0${tagName}`) + 1;
  if (at === 0 && !environment.startsWith(tagName)) return undefined;
  return environment.slice(at + tagName.length).split("\0", 1)[0];
};

/** Seconds since boot, the clock that wrapper, agent and next agent share. */
export const uptime = (): number => Number.parseFloat(readFileSync("/proc/uptime", "latin1"));

/** Clock ticks a second of /proc (USER_HZ); 100 on every Linux that Node runs on. */
export const ticksPerSecond = 100;
