import type { HubPort } from "./hub-port.ts";
import type { LinkPort } from "./link-port.ts";

/** The bindings of wrangler.toml, and the secrets and variables that are settings. */
export type Env = {
  LINK: DurableObjectNamespace;
  HUB: DurableObjectNamespace;
  HYPERDRIVE: Hyperdrive;
  VERSION: WorkerVersionMetadata;
  DROVER_ADMIN_TOKEN?: string;
  DROVER_SECRET_KEY?: string;
  DROVER_PUBLIC_URL?: string;
  DROVER_NODE_GONE_AFTER?: string;
  DROVER_MAX_QUEUED?: string;
  DROVER_SESSION_IDLE?: string;
  DROVER_SESSION_MAX?: string;
  DROVER_OIDC_ISSUER?: string;
  DROVER_OIDC_CLIENT_ID?: string;
  DROVER_OIDC_CLIENT_SECRET?: string;
  DROVER_OIDC_SCOPE?: string;
  DROVER_OIDC_GROUPS_CLAIM?: string;
  DROVER_OIDC_ROLES?: string;
  DROVER_REQUESTS_PER_TOKEN?: string;
  DROVER_REQUESTS_PER_ADDRESS?: string;
  DROVER_FAILED_PER_MINUTE?: string;
  DROVER_OPEN_PER_TOKEN?: string;
  DROVER_AUDIT_RETENTION?: string;
};

/** There is one hub: the topics of all nodes meet there. The verbs of an object are called by way of its stub. */
export const hubOf = (env: Env): HubPort => env.HUB.get(env.HUB.idFromName("hub")) as unknown as HubPort;

/** The object that has the socket of a node, if any has. */
export const linkOf = (env: Env, nodeId: string): LinkPort => linkStub(env, nodeId) as unknown as LinkPort;

export const linkStub = (env: Env, nodeId: string): DurableObjectStub =>
  env.LINK.get(env.LINK.idFromName(nodeId));
