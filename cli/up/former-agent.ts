// An `up` that was killed leaves its agent at work, so that nothing on the node is lost. The next `up` on the same data
// takes its place: it ends that agent the hard way, which leaves the agent's processes as they are (they are not its
// children in any way that matters), and the new agent adopts them.
//
// It must be that very agent: the one whose pid an `up` wrote down, that holds the lock of the agent's folder (a link to
// `pid.startTicks.boot.folder`), and that was born at the tick which the lock names, so that no reused pid is ever hit.

import { readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failed } from "../verb.ts";
import { exitCodes } from "../exit-code.ts";

const goneWithinMs = 5_000;

type Claim = { pid: number; startTicks: string };

const noteOf = (dataDir: string): string => join(dataDir, "local-agent.pid");

/** Writes down which agent this `up` has started. */
export const noteAgent = (dataDir: string, pid: number): Promise<void> =>
  writeFile(noteOf(dataDir), `${pid}\n`, { mode: 0o600 });

/** Ends the agent that an earlier `up` left behind, if there is one; answers whether there was. */
export async function endFormerAgent(dataDir: string, agentDir: string): Promise<boolean> {
  const noted = Number(await textOf(noteOf(dataDir)));
  const claim = await claimOn(agentDir);
  if (claim === undefined || claim.pid !== noted || !(await isAtWork(claim))) return false;
  kill(claim.pid);
  const deadline = performance.now() + goneWithinMs;
  while (await isAtWork(claim)) {
    if (performance.now() > deadline)
      throw new Failed(`the former agent (process ${claim.pid}) does not end`, exitCodes.usage);
    await delay(20);
  }
  return true;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It went between the look and the signal, which is what the signal is for.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function claimOn(agentDir: string): Promise<Claim | undefined> {
  // No link, no agent.
  const target = await readlink(join(agentDir, "agent.lock")).catch(() => "");
  const [pid = "", startTicks = "", boot = ""] = target.split(".");
  const thisBoot = (await textOf("/proc/sys/kernel/random/boot_id")).trim();
  return pid !== "" && boot !== "" && boot === thisBoot ? { pid: Number(pid), startTicks } : undefined;
}

/** Whether the process of a claim lives; a zombie has ended. */
async function isAtWork({ pid, startTicks }: Claim): Promise<boolean> {
  const stat = await textOf(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything; behind it come the state and, twentieth, the birth.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[19] === startTicks && fields[0] !== "Z" && fields[0] !== "X";
}

// A file that is not there says that what it would tell of is not there either.
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");
