import type { Config, IdentityProvider, Log, Seal } from "../../needs.ts";
import { openProvider } from "../../oidc/provider.ts";
import { sealWith } from "../../secrets/seal.ts";
import { configWith } from "../config.ts";
import { createLog } from "../log.ts";
import { SettingError, settingsFromEnv } from "../settings.ts";
import { version } from "./version.ts";
import type { Env } from "./env.ts";

/** What the bindings say, worked out once for each isolate: keys and digests, nothing that belongs to one request. */
export type Known = {
  config: Config;
  seal: Seal;
  log: Log;
  maxQueued: number;
  provider: IdentityProvider | undefined;
};

let known: { env: Env; made: Known } | undefined;

/** Throws a SettingError that says which binding is missing or wrong, and how it is set. */
export const knownOf = async (env: Env): Promise<Known> => {
  if (known?.env === env) return known.made;
  const { adminToken, secretKeys, publicUrl, nodeGoneMs, auditRetentionMs, maxQueued, signIn, limits } =
    settingsFromEnv({
      ...texts(env),
      DROVER_LOG: "json",
    });
  if (adminToken === undefined) throw missing("DROVER_ADMIN_TOKEN", "the token of whoever uses the API");
  if (secretKeys === undefined)
    throw missing("DROVER_SECRET_KEY", "32 bytes in base64: openssl rand -base64 32");
  const log = createLog("json", (line) => console.log(line.trimEnd()));
  const made: Known = {
    config: await configWith(
      { adminToken, publicUrl, nodeGoneMs, auditRetentionMs, signIn, limits, version },
      log,
    ),
    seal: await sealWith(...secretKeys),
    log,
    maxQueued,
    provider: signIn.oidc && openProvider(signIn.oidc),
  };
  known = { env, made };
  return made;
};

const texts = ({ DROVER_ADMIN_TOKEN, DROVER_SECRET_KEY, DROVER_PUBLIC_URL, ...rest }: Env) => ({
  DROVER_ADMIN_TOKEN,
  DROVER_SECRET_KEY,
  DROVER_PUBLIC_URL,
  DROVER_NODE_GONE_AFTER: rest.DROVER_NODE_GONE_AFTER,
  DROVER_MAX_QUEUED: rest.DROVER_MAX_QUEUED,
  DROVER_SESSION_IDLE: rest.DROVER_SESSION_IDLE,
  DROVER_SESSION_MAX: rest.DROVER_SESSION_MAX,
  DROVER_OIDC_ISSUER: rest.DROVER_OIDC_ISSUER,
  DROVER_OIDC_CLIENT_ID: rest.DROVER_OIDC_CLIENT_ID,
  DROVER_OIDC_CLIENT_SECRET: rest.DROVER_OIDC_CLIENT_SECRET,
  DROVER_OIDC_SCOPE: rest.DROVER_OIDC_SCOPE,
  DROVER_OIDC_GROUPS_CLAIM: rest.DROVER_OIDC_GROUPS_CLAIM,
  DROVER_OIDC_ROLES: rest.DROVER_OIDC_ROLES,
  DROVER_REQUESTS_PER_TOKEN: rest.DROVER_REQUESTS_PER_TOKEN,
  DROVER_REQUESTS_PER_ADDRESS: rest.DROVER_REQUESTS_PER_ADDRESS,
  DROVER_FAILED_PER_MINUTE: rest.DROVER_FAILED_PER_MINUTE,
  DROVER_OPEN_PER_TOKEN: rest.DROVER_OPEN_PER_TOKEN,
  DROVER_AUDIT_RETENTION: rest.DROVER_AUDIT_RETENTION,
});

const missing = (name: string, what: string): SettingError =>
  new SettingError(`${name} is not set (${what}): wrangler secret put ${name}`);
