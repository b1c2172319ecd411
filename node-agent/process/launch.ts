import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { shellQuote } from "#shared/shell-quote.ts";
import type { Launch } from "#shared/link/launch.ts";
import { joinCgroup } from "./cgroup.ts";
import { type ProcessFolder, streamPath } from "./folder.ts";
import { programPath } from "./program-path.ts";
import { createRecord, type Spec } from "./record.ts";
import { bareEnvironment, folderCheck, giveTo, setApart, textPath, userScript, writeAs } from "./run-as.ts";
import { type Sandbox, sandboxed } from "./sandbox.ts";
import type { UserAccount } from "./users.ts";

/**
 * How a command is started so that nothing that happens to the agent can touch it.
 *
 * The agent writes a launch script and runs it with /bin/sh in a session of its own. That shell is the wrapper: the parent
 * that matters. It has stdout (1) and the command's stderr (4) open on files, the run record on 3, and its own stderr (2)
 * on the record too. It writes who it is, forks the command's process, waits for it and writes the ending. Its lines begin
 * with the process's id, which no text of a command can hold.
 *
 * - The wrapper traps signals with a handler, not with '': a handler is reset in the child, so the command starts with
 *   default signals while the wrapper outlives signals to its group.
 * - The command's process closes 3 and makes itself a better victim for the kernel's memory killer than the agent.
 * - A shell announces the death of a foreground process by signal on its own stderr (KILL, TERM, HUP, SEGV, USR1 …;
 *   not INT and PIPE), but says nothing of `exit 137`. So the record holds an announcement exactly when a code above 128
 *   stands for a signal.
 * - The ending is one write of one line. The script ends with `exit`: what follows in its file is the record.
 */
const opening = (id: string) => `trap : HUP INT QUIT TERM USR1 USR2 PIPE ALRM XCPU XFSZ VTALRM PROF
read -r _drover_u _drover_s </proc/uptime; read -r _drover_s </proc/self/stat
echo "${id} start $_drover_u $_drover_s" >&3
`;
const closing = (id: string, pipe: boolean) => `_drover_c=$?
${pipe ? "{ kill -9 $_drover_k; wait $_drover_k; } 2>/dev/null\n" : ""}read -r _drover_u _drover_s </proc/uptime
echo "${id} exit $_drover_c $_drover_u end" >&3
exit
`;
const asLeader = (id: string) => `read -r _drover_s </proc/self/stat; echo "${id} leader $_drover_s" >&3
exec 2>&4 3>&- 4>&-
{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
`;

/** A longer text goes by file: one argument over 128 KiB is refused by the kernel. */
const longestArgument = 100_000;

/** Where the agent looks for shells, and the cgroup that the command joins, or must join since it holds its limits. */
type Surroundings = {
  path: string;
  cgroup: string | null;
  mustJoin: boolean;
  cwd: string;
  /** Whose command it is, where not the agent's. */
  account?: UserAccount | undefined;
  /** What the wrapper runs in, and where that program is. */
  sandbox?: { policy: Sandbox; program: string } | undefined;
};

/** The script that becomes the wrapper. */
export const launchScript = (launch: Launch, folder: ProcessFolder, around: Surroundings): string => {
  const { id } = launch;
  const { account } = around;
  const pipe = launch.stdin === "pipe";
  const input = shellQuote(folder.in);
  const leader = [
    pipe ? `exec <${input}\n` : "",
    joinCgroup(id, around.cgroup, around.mustJoin),
    account ? folderCheck(id, account, around.cwd) : "",
    asLeader(id),
    isApart(around) ? setApart(account, folder, isLong(launch)) : beginning(launch, folder, around),
  ].join("");
  return `${opening(id)}${pipe ? keeper(id, input, account) : ""}(\n${leader}\n)\n${closing(id, pipe)}`;
};

/**
 * The keeper has the write end from its birth: opened before it is forked, through a moment as reader and writer, which
 * blocks nobody. Were it to open the pipe by itself, a command could see an end of file before it did.
 */
const keeper = (
  id: string,
  input: string,
  account?: UserAccount,
): string => `${programPath("mkfifo")} -m 600 ${input}
${account ? `${programPath("chown")} ${account.uid}:${account.gid} ${input}\n` : ""}exec 5<>${input} 6>${input} 5<&-
${programPath("sleep")} 2147483647 >&6 6>&- 3>&- 4>&- 2>/dev/null &
_drover_k=$!; exec 6>&-; echo "${id} keeper $_drover_k" >&3
`;

/** Whether nothing of what the start says may reach the wrapper. */
const isApart = ({ account, sandbox }: Surroundings): boolean =>
  account !== undefined || sandbox !== undefined;

const beginning = (launch: Launch, folder: ProcessFolder, around: Surroundings): string =>
  `${missingProgram(launch)}exec ${execLine(launch, folder, around)}`;

const execLine = (launch: Launch, folder: ProcessFolder, around: Surroundings): string => {
  const nice = launch.nice === null ? [] : [programPath("nice"), "-n", String(launch.nice)];
  return [...nice, ...programOf(launch, folder, around)].map(shellQuote).join(" ");
};

const isLong = ({ command }: Launch): boolean => command !== null && command.length > longestArgument;

/** Said in the words of a shell, but without the name of our script. */
const missingProgram = ({ argv }: Launch): string => {
  const name = argv?.[0];
  if (name === undefined) return "";
  return `command -v ${shellQuote(name)} >/dev/null 2>&1 || { echo ${shellQuote(`${name}: not found`)} >&2; exit 127; }\n`;
};

const programOf = (launch: Launch, folder: ProcessFolder, around: Surroundings): string[] => {
  if (launch.argv) return launch.argv;
  const shell = programPath(launch.shell, around.path);
  if (!isLong(launch)) return [shell, "-c", launch.command ?? ""];
  return [shell, isApart(around) ? textPath : folder.cmd];
};

/** Writes the files of a start and spawns the wrapper. Throws what the system says when that fails. */
export const launchWrapper = (
  launch: Launch,
  folder: ProcessFolder,
  how: { spec: Spec; env: Record<string, string>; shell: string } & Surroundings,
): ChildProcess => {
  const fds: number[] = [];
  const opened = (fd: number): number => (fds.push(fd), fd);
  try {
    const { account } = how;
    if (launch.command !== null && isLong(launch)) writeAs(account, folder.cmd, launch.command);
    if (typeof launch.stdin === "object") writeAs(account, folder.in, launch.stdin.text);
    if (isApart(how))
      writeAs(account, folder.as, userScript(how.env, missingProgram(launch), execLine(launch, folder, how)));
    const record = opened(createRecord(folder, how.spec, launchScript(launch, folder, how)));
    const append = (path: string) => {
      const fd = opened(openSync(path, "a", 0o600));
      giveTo(account, fd);
      return fd;
    };
    const out = append(streamPath(folder, "merged"));
    const err = launch.output === "split" ? append(streamPath(folder, "stderr")) : out;
    const input = typeof launch.stdin === "object" ? opened(openSync(folder.in, "r")) : "ignore";
    const [file, ...args] = [...inSandbox(folder, how), how.shell, folder.run];
    return spawn(file, args, {
      cwd: how.cwd,
      env: isApart(how) ? bareEnvironment(how.sandbox ? undefined : launch.id) : how.env,
      detached: true,
      stdio: [input, out, record, record, err],
    });
  } finally {
    for (const fd of fds) closeSync(fd);
  }
};

const inSandbox = (folder: ProcessFolder, { sandbox, ...around }: Surroundings): string[] =>
  sandbox ? sandboxed(sandbox.policy, { ...around, folder, program: sandbox.program }) : [];
