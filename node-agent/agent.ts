import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { StartRefused, type AgentConfig } from "./config.ts";
import { openDataFolder, type DataFolder } from "./data-folder.ts";
import type { Engine } from "./engine.ts";
import { enroll } from "./enroll.ts";
import { readIdentity, storeIdentity, type Identity } from "./identity.ts";
import { Link } from "./link/client.ts";
import { confirmIdentity } from "./link/confirm.ts";
import type { Greeting } from "./link/hello.ts";
import type { AgentLog } from "./log.ts";
import { agentVersion, machineFacts } from "./machine/facts.ts";
import { bootId } from "./machine/identity.ts";
import { findWalls, type Walls } from "./machine/walls.ts";
import { loadMeter } from "./machine/load.ts";
import { nodePolicy } from "./policy-file.ts";
import { disown } from "./process/disown.ts";
import { accountOf, captureBase } from "./process/environment.ts";
import { Supervisor } from "./process/supervisor.ts";
import { usersOf } from "./process/users.ts";
import { Self } from "./self.ts";

/**
 * One agent: its data folder, who it is, its processes, its link.
 *
 * Order of a start: the folder is locked before anything in it is read; who we are is known (and, for a copied folder,
 * confirmed, and what it does not own disowned) before processes are adopted; processes are adopted before the link tells of them. A stop goes the other
 * way, and gives the lock back last.
 */
export type Agent = {
  /** Resolves when the agent cannot go on: with the cause. Undefined after `stop`. */
  done: Promise<string | undefined>;
  /** Leaves the processes running, or ends them first, until `signal` aborts; says how many of each. */
  stop(options: { stopProcesses: boolean; signal?: AbortSignal }): Promise<{ left: number; stopped: number }>;
};

type StartNeeds = { config: AgentConfig; log: AgentLog; signal: AbortSignal };
type Settled = { folder: DataFolder; greeting: Greeting; walls: Walls; self: Self };

const settleMs = 2000;

/** Starts the agent. Throws StartRefused where it cannot be, and rejects when `signal` aborts before it has started. */
export async function startAgent(needs: StartNeeds): Promise<Agent> {
  if (!existsSync("/proc/self/stat")) throw new StartRefused("the agent needs Linux with /proc");
  const folder = openDataFolder(needs.config.dataFolder);
  try {
    const walls = findWalls(needs.config.cgroup, needs.log);
    const greeting = greetingOf(needs.config, folder, walls);
    const identity = await whoWeAre(needs, folder, greeting);
    return begin(needs, { folder, greeting, walls, self: new Self(folder, identity, needs.log) });
  } catch (error) {
    folder.close();
    throw error;
  }
}

const greetingOf = ({ maxProcesses }: AgentConfig, folder: DataFolder, walls: Walls): Greeting => ({
  version: agentVersion(),
  instanceId: randomUUID(),
  machineId: folder.machineId,
  bootId: bootId(),
  facts: machineFacts(maxProcesses, walls.enforces),
});

async function whoWeAre(
  { config, log, signal }: StartNeeds,
  folder: DataFolder,
  greeting: Greeting,
): Promise<Identity> {
  const stored = readIdentity(folder);
  if (stored.state !== "node") {
    // A folder without its identity may be a copy just as well.
    disown(folder.procs, greeting.bootId);
    return enroll({ config, folder, facts: greeting.facts, log, signal });
  }
  const identity = { ...stored.identity, url: config.url ?? stored.identity.url };
  if (!stored.isCopy) return identity;
  const refusal = await confirmIdentity({ identity, greeting, log, signal });
  if (refusal !== undefined) throw new StartRefused(refusal);
  const disowned = disown(folder.procs, greeting.bootId);
  log.warn("identity.copied", { dataFolder: folder.path, disowned });
  // Last: an agent that dies before finds a copy again.
  storeIdentity(folder, identity);
  return identity;
}

function begin({ log }: StartNeeds, { folder, greeting, walls, self }: Settled): Agent {
  const life = new AbortController();
  const engine: Engine = new Supervisor({
    procs: folder.procs,
    bootId: greeting.bootId,
    generation: folder.generation,
    nodeName: () => self.name,
    // Begun now, so that the first command finds it: a profile may take seconds.
    users: usersOf(process.env, { log, signal: life.signal }),
    environment: captureBase(process.env, accountOf(process.env), { log, signal: life.signal }),
    cwd: homeFolder(),
    policy: nodePolicy(folder.policy, log),
    walls,
  });
  const link = new Link({ self, engine, greeting, load: loadMeter(folder.path), log });
  return {
    done: link.done,
    stop: async (options) => {
      const outcome = await engine.close(options);
      life.abort();
      if (!options.signal?.aborted) await link.settle(settleMs);
      await link.close();
      folder.close();
      return outcome;
    },
  };
}

const homeFolder = (): string => (existsSync(homedir()) ? homedir() : "/");
