import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { enrollAnswer, type EnrollBody, type NodeFacts } from "#shared/api/node.ts";
import { backoffMs } from "#shared/backoff.ts";
import { StartRefused, type AgentConfig } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import { keyHash, makeKey, readIdentity, storeIdentity, type Identity } from "./identity.ts";
import { postJson, type Posted } from "./link/post-json.ts";
import type { Log } from "./log.ts";
import { nameFromHost } from "./machine/facts.ts";

/**
 * The first start: this agent makes its own key, stores it, and sends its hash with the join token.
 *
 * The key is on disk before the request, so an agent that dies in between asks again with the same token and hash and
 * gets the same node. What the control plane refuses ends the start with one line; what the network refuses is tried
 * again, since the control plane may come up later.
 */
type EnrollNeeds = {
  config: AgentConfig;
  folder: DataFolder;
  facts: NodeFacts;
  log: Log;
  signal: AbortSignal;
  random?: () => number;
};

/** Enrols this node and stores who it is. Throws StartRefused on a refusal, and the signal's reason when aborted. */
export async function enroll({
  config,
  folder,
  facts,
  log,
  signal,
  random = Math.random,
}: EnrollNeeds): Promise<Identity> {
  const { url, joinToken } = config;
  if (url === undefined) throw new StartRefused("no control plane given: set --url or DROVER_URL");
  if (joinToken === undefined)
    throw new StartRefused(
      "this node has not enrolled yet: give a join token with --token or DROVER_JOIN_TOKEN",
    );
  const known = readIdentity(folder);
  const key = known.state === "key" ? known.key : makeKey(folder);
  const body: EnrollBody = {
    joinToken,
    name: config.name ?? nameFromHost(),
    keyHash: keyHash(key),
    labels: config.labels,
    facts,
  };
  for (let attempt = 0; ; attempt++) {
    const outcome = verdict(await postJson(`${url}/v1/enroll`, body, signal), body.name);
    if ("node" in outcome) {
      const identity = { ...outcome.node, key, url };
      storeIdentity(folder, identity);
      return identity;
    }
    const retryInMs = Math.round(backoffMs(attempt, random, { baseMs: 250, maxMs: 30_000 }));
    // The early attempts come in quick succession and say the same.
    if (attempt === 0 || attempt > 5) log.warn("enroll.waiting", { url, reason: outcome.retry, retryInMs });
    await pause(retryInMs, undefined, { signal });
  }
}

const problem = z.object({ code: z.string(), detail: z.string() });

/** What an answer to an enrolment means: a node, another try, or (thrown) the end of the start. */
function verdict(
  posted: Posted,
  name: string,
): { node: { nodeId: string; name: string } } | { retry: string } {
  if ("unreachable" in posted) return { retry: posted.unreachable };
  const { status, body } = posted;
  const node = enrollAnswer.safeParse(body);
  if (status < 300 && node.success) return { node: node.data };
  const said = problem.safeParse(body);
  const detail = said.success ? said.data.detail : `HTTP ${status}`;
  if (status === 429 || status >= 500) return { retry: detail };
  if (!said.success)
    throw new StartRefused(
      `the address given by --url is not a Drover control plane (its /v1/enroll answered HTTP ${status})`,
    );
  if (status === 401 || status === 403) throw new StartRefused(`the join token was refused: ${detail}`);
  if (status === 409)
    throw new StartRefused(`the name ${name} was refused: ${detail} (or choose another name with --name)`);
  throw new StartRefused(`the control plane refused this node: ${detail}`);
}
