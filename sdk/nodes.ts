import {
  leaseHeader,
  type DrainBody,
  type LeaseBody,
  type LeaseView,
  type NodeView,
} from "#shared/api/node.ts";
import { onlyOnce, type Client } from "./client.ts";
import type { Answer } from "./failure.ts";

/** The header by which a start, a renewal or a release names the lease of its node; none without a lease. */
export const leaseHeaders = (leaseId: string | undefined): Record<string, string> =>
  leaseId === undefined ? {} : { [leaseHeader]: leaseId };

const path = (node: string, verb = ""): string => `/v1/nodes/${encodeURIComponent(node)}${verb}`;

/** A node by its id or name. */
export const getNode = (client: Client, node: string): Promise<Answer<NodeView>> =>
  client.request("GET", path(node));

export type NodeChange = { name?: string; labels?: Record<string, string>; maxProcesses?: number };

/** Changes what is given; labels are replaced as a whole. */
export const changeNode = (client: Client, node: string, change: NodeChange): Promise<Answer<NodeView>> =>
  client.request("PATCH", path(node), { body: change });

/** Deletes a node: its key is void at once. */
export const deleteNode = (client: Client, node: string): Promise<Answer<undefined>> =>
  client.request("DELETE", path(node));

/** Takes no new starts; at the deadline, if there is one, what still lives is stopped. */
export const drainNode = (client: Client, node: string, drain: DrainBody): Promise<Answer<NodeView>> =>
  client.request("POST", path(node, "/drain"), { body: drain });

/** Ends a drain. */
export const resumeNode = (client: Client, node: string): Promise<Answer<NodeView>> =>
  client.request("POST", path(node, "/resume"));

/** Leases a node for maintenance, or renews the lease `heldId`; starts have to name it (`leaseHeaders`). */
export const leaseNode = (
  client: Client,
  node: string,
  lease: LeaseBody & { heldId?: string | undefined },
): Promise<Answer<LeaseView>> => {
  const { heldId, ...body } = lease;
  const headers = { ...onlyOnce(), ...leaseHeaders(heldId) };
  return client.request("POST", path(node, "/lease"), { body, headers });
};

/** Ends the lease of a node: the one named only, or any if none is. */
export const releaseNode = (client: Client, node: string, heldId?: string): Promise<Answer<undefined>> =>
  client.request("DELETE", path(node, "/lease"), { headers: leaseHeaders(heldId) });

/** Replaces the key of a node that is online; its agent goes on. */
export const rotateKey = (client: Client, node: string): Promise<Answer<NodeView>> =>
  client.request("POST", path(node, "/rotate-key"));
