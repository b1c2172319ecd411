import type { Command } from "commander";
import { bytes, duration, environment, limit, pair } from "./options.ts";
import { whatToRun } from "./what-to-run.ts";

export type LaunchOptions = {
  node?: string;
  command?: string;
  cwd?: string;
  env?: Record<string, string>;
  secret?: Record<string, string>;
  shell?: string;
  timeout?: number;
  idleTimeout?: number;
  grace?: number;
  key?: string;
  label?: Record<string, string>;
  nice?: number;
  logLimit?: number;
  outputLimit?: number;
  user?: string;
  mem?: number;
  cpu?: number;
  pids?: number;
  queue?: boolean;
  lease?: string;
  keepDescendants: boolean;
};

/** What can be said of any process. */
export const withProcess = (command: Command): Command =>
  command
    .option("-c, --command <text>", "text for a shell, instead of words")
    .option("--cwd <folder>", "the folder to run it in, an absolute path")
    .option(
      "-e, --env <name=value>",
      "set in its environment; a bare NAME is copied from here (repeatable)",
      environment,
    )
    .option(
      "--secret <name=secret>",
      "set in its environment to the value of a named secret (repeatable)",
      pair,
    )
    .option("--shell <shell>", "what runs the text of -c (sh)")
    .option("--timeout <duration>", "end it after this time", limit)
    .option("--idle-timeout <duration>", "end it when it does nothing for this long", limit)
    .option("--grace <duration>", "what it gets between TERM and KILL (5s)", duration)
    .option("--label <name=value>", "a label to find it by (repeatable)", pair)
    .option("--nice <n>", "its priority, -20 to 19", Number)
    .option("--log-limit <size>", "how much of its output is kept, the middle goes first", bytes)
    .option("--output-limit <size>", "end it when it has written more than this", bytes)
    .option("--user <name>", "run it as this user, where the node's policy lists it")
    .option("--mem <size>", "end it when all of it together takes more memory than this", bytes)
    .option("--cpu <percent>", "the CPU time that all of it may take, 100 is one core", Number)
    .option("--pids <n>", "how many processes and threads of it may live at once", Number)
    .option("--queue", "wait for the node if it is offline, instead of failing")
    .option("--no-keep-descendants", "sweep what it leaves behind when it ends");

/** What `exec` and `run` can say of a process on one node. */
export const withLaunch = (command: Command): Command =>
  withProcess(
    command
      .argument("[words...]", "the program and its arguments, after --")
      .passThroughOptions()
      .option("-n, --node <node>", "where to run it (may be left out while there is one node only)"),
  )
    .option("--lease <id>", "the lease of the node (`drover nodes lease`), while it is leased")
    .option("--key <key>", "start it once only: the same key finds the same process again");

/** The body of a start, without the node and stdin. */
export const launchBody = (words: string[], options: LaunchOptions): Record<string, unknown> => ({
  ...processBody(words, options),
  key: options.key,
  ifOffline: options.queue ? "queue" : undefined,
});

/** What is to run, whoever says where and when. */
export function processBody(words: string[], options: LaunchOptions): Record<string, unknown> {
  return {
    ...whatToRun(words, options.command),
    cwd: options.cwd,
    env: environmentOf(options),
    shell: options.shell,
    user: options.user,
    timeoutMs: options.timeout,
    idleTimeoutMs: options.idleTimeout,
    graceMs: options.grace,
    labels: options.label,
    nice: options.nice,
    limits: {
      ...{ logBytes: options.logLimit, outputBytes: options.outputLimit },
      ...{ memBytes: options.mem, cpuPct: options.cpu, pids: options.pids },
    },
    keepDescendants: options.keepDescendants,
  };
}

const environmentOf = ({ env, secret = {} }: LaunchOptions): Record<string, unknown> | undefined => {
  const secrets = Object.entries(secret).map(([name, named]) => [name, { secret: named }]);
  return env === undefined && secrets.length === 0 ? undefined : { ...env, ...Object.fromEntries(secrets) };
};
