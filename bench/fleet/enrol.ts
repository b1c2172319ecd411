import { createHash, randomBytes } from "node:crypto";
import type { Client } from "../client.ts";
import { concurrently } from "../concurrently.ts";
import type { Identity } from "./simulated-agent.ts";

const nodesAToken = 250;
const width = 8;

/** Label and value of the first nodes, which a fan-out goes to. */
export const chosenLabel = "bench=fanout";

/** Enrols nodes as their agents would; the first `chosen` of them bear the chosen label. */
export async function enrol(client: Client, count: number, chosen: number): Promise<Identity[]> {
  const identities: Identity[] = [];
  const groups = [...groupsOf(0, chosen), ...groupsOf(chosen, count)];
  await concurrently(groups.length, width, async (index) => {
    const [from, to] = groups[index] ?? [0, 0];
    const joinToken = await tokenFor(client, { uses: to - from, isChosen: from < chosen });
    for (let at = from; at < to; at++) identities[at] = await enrolOne(client, joinToken, `sim-${at}`);
  });
  return identities;
}

// A token's row is locked while a node enrols with it: several tokens let several nodes do so at once.
const groupsOf = (from: number, to: number): [number, number][] =>
  Array.from({ length: Math.ceil((to - from) / nodesAToken) }, (_, group) => {
    const start = from + group * nodesAToken;
    return [start, Math.min(to, start + nodesAToken)];
  });

async function tokenFor(
  client: Client,
  { uses, isChosen }: { uses: number; isChosen: boolean },
): Promise<string> {
  const [label = "", value = ""] = chosenLabel.split("=");
  const labels = isChosen ? { [label]: value } : {};
  const { token } = await client.post<{ token: string }>("/v1/join-tokens", { maxUses: uses, labels });
  return token;
}

async function enrolOne(client: Client, joinToken: string, name: string): Promise<Identity> {
  const key = randomBytes(32).toString("base64url");
  const keyHash = createHash("sha256").update(key).digest("hex");
  const { nodeId } = await client.post<{ nodeId: string }>("/v1/enroll", { joinToken, name, keyHash });
  return { nodeId, name, key };
}
