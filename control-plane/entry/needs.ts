import { hash, randomBytes } from "node:crypto";
import { newSecret } from "#shared/secret-text.ts";
import { createMemoryBus } from "../bus/memory.ts";
import { openCluster, type Cluster } from "../cluster/cluster.ts";
import { openLink, type Link } from "../link/link.ts";
import type { Config, Log, Needs } from "../needs.ts";
import { openProvider } from "../oidc/provider.ts";
import { queueGauge } from "../queue-gauge.ts";
import { sealWith } from "../secrets/seal.ts";
import type { Store } from "../store/store.ts";
import { configWith } from "./config.ts";
import { keptSecret } from "./secret-file.ts";
import { keysIn, type SecretKeys, type Settings } from "./settings.ts";
import { version } from "./version.ts";

/** The configuration by these settings; a token that nobody gave is made into the data folder. */
export const configOf = async (settings: Settings, log: Log): Promise<Config> => {
  const adminToken = settings.adminToken ?? (await madeToken(settings.dataDir, log));
  return configWith({ ...settings, adminToken, version }, log);
};

const madeToken = async (dataDir: string, log: Log): Promise<string> => {
  const { secret, path, made } = await keptSecret(dataDir, "admin-token", () => newSecret("drva"));
  if (made) log.info("admin_token.made", { path });
  return secret;
};

const secretKeysOf = async (settings: Settings): Promise<SecretKeys> => {
  if (settings.secretKeys !== undefined) return settings.secretKeys;
  const { secret, path } = await keptSecret(settings.dataDir, "secret-key", () =>
    randomBytes(32).toString("base64"),
  );
  return keysIn(secret, path);
};

type Known = { store: Store; settings: Settings; config: Config; log: Log; place: string };

/** Everything that the app, the link and the scheduler work with, on one store. */
export const needsOf = async ({
  store,
  settings,
  config,
  log,
  place,
}: Known): Promise<{ link: Link; needs: Needs; cluster: Cluster }> => {
  const local = createMemoryBus((fault) => log.error("bus.look_failed", { error: fault }));
  const seal = await sealWith(...(await secretKeysOf(settings)));
  const cluster = openCluster({ store, local, log, seal, place, version });
  const { bus, self: instance } = cluster;
  const queue = queueGauge(store.processes, settings.maxQueued);
  const provider = config.signIn.oidc && openProvider(config.signIn.oidc);
  const rest = { store, bus, seal, queue, provider, config, log, instance, now: cluster.now };
  const link = openLink(rest, {
    elsewhere: cluster.elsewhere,
    sha256Hex: (text) => hash("sha256", text, "hex"),
  });
  return { link, needs: { ...rest, hub: link.hub }, cluster };
};
