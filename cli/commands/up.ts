// `drover up`: everything on this machine, to try it. In order: the control plane (with its own Postgres, on loopback),
// the profile, the agent left by an `up` that was killed (ended, its processes live on), the agent as a child, then the
// greeting once it is online. Ctrl-C goes the other way round: the agent stops its processes with their grace, then the
// agent, then the control plane and its Postgres. A second Ctrl-C leaves what still runs, as it is, to the next `up`.

import { userInfo } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { createClient } from "../../sdk/client.ts";
import { adminToken, saveLocalProfile, startHere, withSettings } from "../control-plane.ts";
import { countPresses, type Presses } from "../interrupts.ts";
import { signInLink } from "../sign-in-link.ts";
import { AgentProcess } from "../up/agent-process.ts";
import { endFormerAgent, noteAgent } from "../up/former-agent.ts";
import { invitation, isOnline, localNode } from "../up/invitation.ts";
import type { Verb } from "../verb.ts";
import { say, tell } from "../write.ts";

const onlineWithinMs = 60_000;

export const verb: Verb = {
  define: (command) =>
    withSettings(command).addHelpText(
      "after",
      "\nCtrl-C stops it and everything it runs; a second one leaves running what has not ended yet.",
    ),
  run,
};

type Place = { url: string; token: string; dataDir: string; profile: string };

async function run(command: Command): Promise<number> {
  const presses = countPresses();
  const { controlPlane, settings } = await startHere({ ...command.opts(), host: "127.0.0.1" });
  try {
    const token = await adminToken(settings);
    const profile = await saveLocalProfile({ url: controlPlane.url, token });
    const place = { url: controlPlane.url, token, dataDir: settings.dataDir, profile };
    return await attend(place, await startAgent(place), presses);
  } finally {
    await controlPlane.close();
    presses.close();
  }
}

async function startAgent(place: Place): Promise<AgentProcess> {
  const { url, dataDir } = place;
  const agentDir = resolve(process.env["DROVER_AGENT_DATA_DIR"] || `${dataDir.replace(/\/+$/, "")}-agent`);
  const client = createClient(place);
  if (await endFormerAgent(dataDir, agentDir))
    await tell("drover: took over from an earlier drover up that was killed");
  const joinToken = await invitation(client, agentDir);
  return new AgentProcess({
    url,
    name: localNode,
    agentDir,
    joinToken,
    onStart: (pid) => noteAgent(dataDir, pid),
  });
}

async function attend(place: Place, agent: AgentProcess, presses: Presses): Promise<number> {
  const over = new AbortController();
  const pressed = presses.first.then(() => "pressed" as const);
  const isUp = untilOnline(place, over.signal).then(() => greet(place));
  // What goes wrong with the greeting ends `up`; that it is through does not.
  const greeting = isUp.then(() => new Promise<never>(() => undefined));
  const end = await Promise.race([agent.ended, pressed, greeting]).finally(() => over.abort());
  return end === "pressed" ? stopAll(agent, presses) : end;
}

async function stopAll(agent: AgentProcess, presses: Presses): Promise<number> {
  await tell(
    "drover: stopping the processes of this machine; Ctrl-C again leaves running what has not ended",
  );
  void presses.second.then(() => agent.leave());
  const outcome = await agent.stop();
  if (outcome === undefined)
    await tell(
      "drover: the agent ended without saying what it stopped; the next drover up finds what still runs",
    );
  else await tell(`drover: stopped ${counted(outcome.stopped)}${leftText(outcome.leftRunning)}`);
  return 0;
}

const counted = (count: number): string => (count === 1 ? "1 process" : `${count} processes`);
const leftText = (left: number): string =>
  left === 0
    ? ""
    : `, left ${counted(left)} running: the next drover up finds ${left === 1 ? "it" : "them"} again`;

async function untilOnline(place: Place, signal: AbortSignal): Promise<void> {
  const client = createClient(place);
  const late = performance.now() + onlineWithinMs;
  for (let isTold = false; !(await isOnline(client));) {
    if (!isTold && performance.now() > late) {
      isTold = true;
      await tell("drover: the local agent is not online yet; going on waiting");
    }
    await delay(50, undefined, { signal });
  }
}

async function greet(place: Place): Promise<void> {
  const { url, dataDir, profile } = place;
  const link = await signInLink(place);
  const { username, uid } = userInfo();
  await say(`Drover is up at ${url}${link === undefined ? "" : `\n  sign in     ${link} (once, within 10 minutes)`}
  commands    run on the node "${localNode}" as ${username}${uid === 0 ? ", who may do anything here" : ""}
  the token   is in ${process.env["DROVER_ADMIN_TOKEN"] ? "DROVER_ADMIN_TOKEN" : `${dataDir}/admin-token`} and, for the commands below, in ${profile}

Try:
  npx drover exec -- uname -a
  npx drover run -c 'while date; do sleep 1; done'
  npx drover ps

Ctrl-C stops it, with everything it runs.`);
}
