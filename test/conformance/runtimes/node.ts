import { Daemon } from "../../support/daemon.ts";
import type { Runtime, StartOptions } from "./runtime.ts";

/** A control plane as a program of its own; resolves when it listens. */
export async function serve(options: StartOptions): Promise<{ daemon: Daemon; url: string }> {
  const daemon = new Daemon(["serve"], { env: { ...settings(options), ...options.env } });
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

export const runtime: Runtime = {
  name: "node",
  powers: [],
  async start(options) {
    const { daemon, url } = await serve(options);
    return {
      url,
      get log() {
        return daemon.log;
      },
      kill: async () => void (await daemon.end("SIGKILL")),
      stop: async () => void (await daemon.end("SIGTERM")),
    };
  },
};
