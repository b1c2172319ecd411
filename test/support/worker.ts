// The control plane on workerd, as wrangler's own harness runs it: the Worker of wrangler.toml, its objects in memory, and a
// real database by way of Hyperdrive's local connection. The harness takes a new port at each start, so a door with a fixed one
// stands before it.
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import { Door } from "./door.ts";

const root = join(import.meta.dirname, "../..");

export type WorkerOptions = {
  databaseUrl: string;
  adminToken: string;
  secretKey: string;
  /** 0 takes any free port. */
  port: number;
};

type Objects = "LinkObject" | "HubObject";

export class Worker {
  readonly #harness: ReturnType<typeof createTestHarness>;
  readonly #door: Door;

  private constructor(harness: ReturnType<typeof createTestHarness>, door: Door) {
    this.#harness = harness;
    this.#door = door;
  }

  static async start({ databaseUrl, adminToken, secretKey, port }: WorkerOptions): Promise<Worker> {
    const secrets = { DROVER_ADMIN_TOKEN: adminToken, DROVER_SECRET_KEY: secretKey };
    const harness = createTestHarness({
      root,
      workers: [{ configPath: "wrangler.toml", ...(adminToken === "" ? {} : { secrets }) }],
    });
    const { url } = await listening(harness, databaseUrl);
    return new Worker(harness, await Door.open(Number(url.port), port));
  }

  get port(): number {
    return this.#door.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get log(): string {
    return this.#harness
      .getLogs()
      .map(({ message }) => message)
      .join("\n");
  }

  /** Fires the cron trigger. */
  async tick(): Promise<void> {
    await this.#harness.getWorker().scheduled({ cron: "* * * * *", scheduledTime: new Date() });
  }

  /** Takes the memory of an object: its sockets stay (`hibernate`), or go with it (`close`). */
  async evict(object: Objects, name: string, webSockets: "hibernate" | "close"): Promise<void> {
    await this.#harness.getWorker().evictDurableObject(object, { name, webSockets });
  }

  /** Ends everything as a deploy does: all sockets drop, all memory is gone. */
  async kill(): Promise<void> {
    await this.#door.close();
    await this.#harness.close();
  }
}

let starting: Promise<unknown> = Promise.resolve();

// The connection string is read out of this process's environment at the start: one start at a time.
const listening = (
  harness: ReturnType<typeof createTestHarness>,
  databaseUrl: string,
): Promise<{ url: URL }> => {
  const started = starting.then(() => {
    process.env["CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_HYPERDRIVE"] = databaseUrl;
    process.env["WRANGLER_SEND_METRICS"] = "false";
    return harness.listen();
  });
  starting = started.catch(() => {});
  return started;
};
