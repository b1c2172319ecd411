// What the local agent needs to join: nothing when it is a node of this control plane already, else a join token.

import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import type { NodeView } from "#shared/api/node.ts";
import type { Client } from "../../sdk/client.ts";
import { ask, valueOf } from "../connection.ts";
import { UsageError } from "../verb.ts";

/** The name of the node that `up` brings along. */
export const localNode = "local";

const tokenTtlMs = 600_000;
const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** A join token, if the agent of this folder is not yet a node here. */
export async function invitation(client: Client, agentDir: string): Promise<string | undefined> {
  const identity = await readIdentity(agentDir);
  if (identity !== undefined && (await exists(client, identity.nodeId))) return undefined;
  if (identity !== undefined) await setAside(agentDir, identity);
  const body = { nodeName: localNode, ttlMs: tokenTtlMs, replace: await exists(client, localNode) };
  return (await ask<{ token: string }>(client, "POST /v1/join-tokens", { body })).token;
}

/** Whether the local node has a live link. */
export async function isOnline(client: Client): Promise<boolean> {
  const answer = await client.request<NodeView>("GET", `/v1/nodes/${localNode}`);
  return answer.ok && answer.value.status === "online";
}

async function exists(client: Client, node: string): Promise<boolean> {
  const answer = await client.request<NodeView>("GET", `/v1/nodes/${encodeURIComponent(node)}`);
  if (!answer.ok && answer.failure.code === "not_found") return false;
  return valueOf(answer) !== undefined;
}

type Identity = { nodeId: string; url: string };

async function readIdentity(agentDir: string): Promise<Identity | undefined> {
  const text = await readFile(join(agentDir, "identity.json"), "utf8").catch(() => "{}");
  try {
    const { nodeId, url } = JSON.parse(text) as Partial<Identity>;
    return nodeId === undefined || url === undefined ? undefined : { nodeId, url };
  } catch {
    // Damaged: the agent itself says so and what to do.
    return undefined;
  }
}

// A control plane on loopback that no longer knows this node is an earlier one of this machine, gone with its data. Any
// other one may still want its agent back.
async function setAside(agentDir: string, identity: Identity): Promise<void> {
  if (!loopback.has(new URL(identity.url).hostname))
    throw new UsageError(
      `${agentDir} belongs to a node of ${identity.url}: set DROVER_AGENT_DATA_DIR to another folder`,
    );
  const file = join(agentDir, "identity.json");
  await rename(file, `${file}.${identity.nodeId}`);
}
