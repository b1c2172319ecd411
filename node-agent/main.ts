import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { startAgent, type Agent } from "./agent.ts";
import {
  readConfig,
  secretVariables,
  StartRefused,
  usage,
  type AgentConfig,
  type Environment,
} from "./config.ts";
import { createLog, type AgentLog } from "./log.ts";
import { stepAsideAsFirstProcess } from "./machine/first-process.ts";
import { closeInheritedFds } from "./machine/inherited-fds.ts";
import { becomeLean } from "./machine/lean.ts";
import { listenForStop, type StopWish } from "./stop-wish.ts";

/**
 * `drover agent`: runs until it is told to stop or cannot go on, and answers its exit code.
 *
 * TERM, INT and HUP are an orderly stop: the processes live on and the next start adopts them. With --stop-processes they
 * are ended first; a second signal leaves those that are left. 0 after an orderly stop, 2 for what a person must mend.
 */
const stopWithinMs = 4500;
const lingerMs = 300;

export async function runAgent(argv: string[], env: Environment): Promise<number> {
  const config = configOf(argv, env);
  if (typeof config === "number") return config;
  const log = createLog({ format: config.logFormat, write: (line) => void process.stderr.write(line) });
  becomeLean();
  stepAsideAsFirstProcess(log);
  closeInheritedFds();
  keepSecrets(config, log, env);
  surviveStderr();
  dieLoudly(log);
  const code = await attend(config, log);
  // Nothing that is still open (a helper command, a socket closing) may keep a stopped agent alive.
  setTimeout(() => process.exit(code), lingerMs).unref();
  return code;
}

function configOf(argv: string[], env: Environment): AgentConfig | number {
  try {
    const config = readConfig(argv, env);
    if (config !== undefined) return config;
    process.stdout.write(usage);
    return 0;
  } catch (error) {
    return refused(error);
  }
}

/** What a person must mend is one line and 2; anything else is a bug and goes on as it is. */
function refused(error: unknown): number {
  if (!(error instanceof StartRefused)) throw error;
  process.stderr.write(`drover agent: ${error.message}\n`);
  return 2;
}

async function attend(config: AgentConfig, log: AgentLog): Promise<number> {
  const wish = listenForStop();
  try {
    const agent = await startAgent({ config, log, signal: wish.stop });
    const cause = await Promise.race([agent.done, wish.stopped]);
    return cause === undefined ? await stopOrderly(agent, { config, log, wish }) : await giveUp(agent, cause);
  } catch (error) {
    if (wish.stop.aborted) return 0;
    return refused(error);
  }
}

async function stopOrderly(
  agent: Agent,
  { config, log, wish }: { config: AgentConfig; log: AgentLog; wish: StopWish },
): Promise<number> {
  const { stopProcesses } = config;
  const stopping = agent.stop({ stopProcesses, signal: wish.leave });
  const enough = new AbortController();
  const late = pause(stopWithinMs, undefined, { signal: enough.signal }).catch(() => undefined);
  // Without processes to end, no hanging disk or socket may keep the agent from stopping.
  const outcome = await (stopProcesses ? stopping : Promise.race([stopping, late]));
  enough.abort();
  log.info("agent.stopped", {
    stopped: stopProcesses ? outcome?.stopped : undefined,
    leftRunning: outcome?.left,
  });
  return 0;
}

async function giveUp(agent: Agent, cause: string): Promise<number> {
  process.stderr.write(`drover agent: ${cause}\n`);
  await agent.stop({ stopProcesses: false });
  return 2;
}

/** No command may inherit the agent's secrets, no list of processes or log show them. */
function keepSecrets(config: AgentConfig, log: AgentLog, env: Environment): void {
  if (config.joinToken !== undefined) log.hide(config.joinToken);
  for (const name of secretVariables) {
    delete env[name];
    delete process.env[name];
  }
  process.title = `drover agent --data-dir ${config.dataFolder}`;
}

/** Who read our log may go before us. */
const surviveStderr = (): void => void process.stderr.on("error", () => undefined);

/** A bug ends the agent with its trace; its processes live on for the next one. */
function dieLoudly(log: AgentLog): void {
  process.on("uncaughtException", (error) => {
    log.error("agent.crashed", { error: error.message });
    writeSync(2, `${error.stack}\n`);
    process.exit(1);
  });
}
