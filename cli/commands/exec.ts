import type { Command } from "commander";
import type { ProcessView } from "#shared/api/process.ts";
import { onlyOnce, type Client } from "../../sdk/client.ts";
import { leaseHeaders } from "../../sdk/nodes.ts";
import { ask, connect, withConnection } from "../connection.ts";
import { attend, passOn } from "../exec/attend.ts";
import { hasInput, passInput } from "../exec/input.ts";
import { runFanout } from "../fanout/attend.ts";
import { fanoutBody, refuseLease } from "../fanout/options.ts";
import { exitCodeOfFailure } from "../exit-code.ts";
import { dieBy, listenForInterrupts } from "../interrupts.ts";
import { launchBody, withLaunch, type LaunchOptions } from "../launch-options.ts";
import { pickNode } from "../pick-node.ts";
import { Failed, UsageError, type Verb } from "../verb.ts";

// What was written while we were cut off, or too slow, is read later: more of it is kept than of a process that nobody
// stands in for.
const logLimitBytes = 1024 ** 3;

type ExecOptions = LaunchOptions & { selector?: string; interactive?: boolean; stdin: boolean };

const help = `
Examples:
  drover exec -- uname -a
  drover exec -n web-1 --cwd /srv --timeout 30s -c 'git log | head -3'
  tar c . | drover exec -n web-1 -- tar x -C /srv
  drover exec -l env=prod -- uptime

Ctrl-C interrupts it, a second one stops it, a third one leaves it running.

Exit code: that of the command; 128+n when signal n ended it; 124 timed out;
125 Drover could not run it or lost some of its output; 255 node offline or process lost; 2 wrong call.
With -l: 0 when every node succeeded, else 1 (see \`drover fanout --help\`).`;

export const verb: Verb = {
  define: (command) =>
    withConnection(withLaunch(command))
      .option("-l, --selector <selector>", "on every node that matches, at once, instead of -n")
      .option("-i, --interactive", "pass on what is typed, too")
      .option("--no-stdin", "pass nothing on, even from a pipe")
      .addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const options = command.opts<ExecOptions>();
  if (options.selector !== undefined) return onMany(command, options.selector, options);
  const body = launchBody(command.args, { ...options, logLimit: options.logLimit ?? logLimitBytes });
  const client = await connect(command);
  const isFed = options.stdin && hasInput(options.interactive === true);
  const started = start(client, options, { ...body, output: "split", stdin: isFed ? "pipe" : "none" });
  // A failed start is told by the await below; a Ctrl-C before it has nothing to end.
  const interrupts = listenForInterrupts((press, before) => {
    if (before >= 2) return dieBy(press);
    void started.then((id) => passOn(client, id, press, before)).catch(() => undefined);
  });
  try {
    return await standIn(client, await started, isFed);
  } finally {
    interrupts.close();
  }
}

async function onMany(command: Command, selector: string, options: ExecOptions): Promise<number> {
  const other = options.node !== undefined ? "-n" : options.key !== undefined ? "--key" : undefined;
  if (other !== undefined) throw new UsageError(`-l and ${other} do not go together`);
  if (options.interactive) throw new UsageError("-l passes no input on");
  refuseLease(options);
  const body = fanoutBody(selector, command.args, options);
  return runFanout(await connect(command), body, { detach: false, json: false });
}

async function start(
  client: Client,
  { node: named, lease }: ExecOptions,
  body: Record<string, unknown>,
): Promise<string> {
  const node = await pickNode(client, named);
  const call = { headers: { ...onlyOnce(), ...leaseHeaders(lease) }, body: { ...body, node } };
  return (await ask<ProcessView>(client, "POST /v1/processes", call)).id;
}

async function standIn(client: Client, id: string, isFed: boolean): Promise<number> {
  const over = new AbortController();
  const input = isFed ? feed(client, id, over.signal) : Promise.resolve();
  try {
    // Input that is through says nothing; input that failed ends the attendance.
    const failed = input.then(() => new Promise<never>(() => undefined));
    return await Promise.race([attend(client, id, over.signal), failed]);
  } finally {
    over.abort();
    await input.catch(() => undefined);
  }
}

async function feed(client: Client, id: string, signal: AbortSignal): Promise<void> {
  const failure = await passInput({ client, id, signal }, { eof: true });
  // A process need not read its input: that it has ended, or closed it, is no failure.
  if (failure === undefined || signal.aborted || failure.code === "process_not_running") return;
  await client.request("POST", `/v1/processes/${id}/stop`, { body: {} });
  throw new Failed(`its input could not be passed on: ${failure.message}`, exitCodeOfFailure(failure));
}
