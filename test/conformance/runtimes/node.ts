import { Daemon, type DaemonOptions } from "../../support/daemon.ts";
import type { Running, Runtime, StartOptions } from "./runtime.ts";

type Program = { words?: string[]; options?: Partial<DaemonOptions> };

/** A control plane as a program of its own, `drover serve` if not given; resolves when it listens. */
export async function serve(
  start: StartOptions,
  { words = ["serve"], options }: Program = {},
): Promise<{ daemon: Daemon; url: string }> {
  const env = { ...settings(start), ...start.env, ...options?.env };
  const daemon = new Daemon(words, { ...options, env });
  await daemon.seen("Drover listens on ");
  const [, url = ""] = /Drover listens on (http:\/\/127\.0\.0\.1:\d+)/.exec(daemon.log) ?? [];
  return { daemon, url };
}

const settings = ({ databaseUrl, adminToken, secretKey, port, dataDir }: StartOptions) => ({
  DATABASE_URL: databaseUrl,
  DROVER_ADMIN_TOKEN: adminToken,
  DROVER_SECRET_KEY: secretKey,
  DROVER_PORT: String(port),
  DROVER_DATA_DIR: dataDir,
});

/** The life of such a program. */
export const running = ({ daemon, url }: { daemon: Daemon; url: string }): Running => ({
  url,
  get log() {
    return daemon.log;
  },
  kill: async () => void (await daemon.end("SIGKILL")),
  stop: async () => void (await daemon.end("SIGTERM")),
});

export const runtime: Runtime = {
  name: "node",
  powers: [],
  start: async (options) => running(await serve(options)),
};
