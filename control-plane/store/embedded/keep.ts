import { setTimeout as delay } from "node:timers/promises";
import { isPostmasterOf } from "./postmaster.ts";
import type { RunningServer } from "./server.ts";

/**
 * Keeps the server of a running control plane there: one that was killed is started again on the same port, which is
 * where the pool looks for it. Until then requests are answered 503.
 */
const lookEveryMs = 500;
const againMs = [500, 1000, 2000, 5000, 10_000];

export type Kept = {
  /** The server as it runs now. */
  server(): RunningServer;
  /** Looks no more; resolves when no start is under way. */
  release(): Promise<void>;
};

type KeepNeeds = {
  cluster: string;
  start(port: number, signal: AbortSignal): Promise<RunningServer>;
  log: { info(event: string, fields?: Record<string, unknown>): void };
};

export function keepRunning(first: RunningServer, needs: KeepNeeds): Kept {
  let server = first;
  const released = new AbortController();
  const { signal } = released;
  const watch = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted;) {
      await pause(failures === 0 ? lookEveryMs : (againMs[failures - 1] ?? 10_000), signal);
      if (signal.aborted) continue;
      try {
        if (await isPostmasterOf(needs.cluster, server.pid)) {
          failures = 0;
          continue;
        }
        needs.log.info("postgres.died", { pid: server.pid });
        server = await needs.start(server.port, signal);
        needs.log.info("postgres.restart", { pid: server.pid, port: server.port });
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!signal.aborted) needs.log.info("postgres.restart_failed", { error });
      }
    }
  };
  const done = watch();
  return {
    server: () => server,
    async release() {
      released.abort();
      await done;
    },
  };
}

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  // An abort only ends the pause; the pause itself keeps nothing alive.
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
};
