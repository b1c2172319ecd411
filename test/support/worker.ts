// The control plane on workerd, as wrangler's own harness runs it: the Worker of wrangler.toml, its objects in memory, and a
// real database by way of Hyperdrive's local connection. The harness takes a new port at each start, so a door with a fixed one
// stands before it.
import { join } from "node:path";
import { createTestHarness, unstable_readConfig } from "wrangler";
import type { NodeView } from "#shared/api/node.ts";
import { Api } from "./api.ts";
import { Door } from "./door.ts";

const root = join(import.meta.dirname, "../..");

type Harness = ReturnType<typeof createTestHarness>;
type Crashing = { get(id: unknown): { crash(): Promise<void> }; idFromName(name: string): unknown };

export type WorkerOptions = {
  databaseUrl: string;
  /** Not set where it is empty. */
  adminToken: string;
  secretKey: string;
  /** Of which its settings for an identity provider are taken. */
  env?: Record<string, string>;
  /** 0 takes any free port. */
  port: number;
};

export class Worker {
  readonly #harness: Harness;
  readonly #door: Door;
  readonly #token: string;

  private constructor(harness: Harness, door: Door, token: string) {
    this.#harness = harness;
    this.#door = door;
    this.#token = token;
  }

  static async start(options: WorkerOptions): Promise<Worker> {
    const harness = harnessOf(options);
    const { url } = await harness.listen();
    return new Worker(harness, await Door.open(Number(url.port), options.port), options.adminToken);
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

  /** Takes the memory of the objects of all nodes that are online; their sockets stay. */
  async sleep(): Promise<void> {
    const ids = await this.#online();
    const worker = this.#harness.getWorker();
    await Promise.all(
      ids.map((name) =>
        worker.evictDurableObject("LinkObject", { name, webSockets: "hibernate" }).catch((error: unknown) => {
          // It sleeps already.
          if (!String(error).includes("not currently running")) throw error;
        }),
      ),
    );
  }

  /** Throws away the hub and these objects, whatever they are at; their sockets go with them. */
  async crash(): Promise<void> {
    const env = await this.#harness.getWorker<{ LINK: Crashing; HUB: Crashing }>().getEnv();
    const crash = (objects: Crashing, name: string): Promise<void> =>
      // Its own call ends with the object.
      objects
        .get(objects.idFromName(name))
        .crash()
        .catch(() => {});
    await crash(env.HUB, "hub");
    for (const id of await this.#online()) await crash(env.LINK, id);
  }

  /** Ends everything as a deploy does: all sockets drop, all memory is gone. */
  async kill(): Promise<void> {
    await this.#door.close();
    await this.#harness.close();
  }

  async #online(): Promise<string[]> {
    const nodes = await new Api(this.url, this.#token).get<{ data: NodeView[] }>("GET /v1/nodes", {
      query: { limit: 200 },
    });
    return nodes.data.filter(({ status }) => status === "online").map(({ id }) => id);
  }
}

/** What runs the Worker; without a door before it. */
export const harnessOf = (options: Omit<WorkerOptions, "port">): Harness =>
  createTestHarness({ root, workers: [{ config: configOf(options) }] });

const configOf = ({ databaseUrl, adminToken, secretKey, env = {} }: Omit<WorkerOptions, "port">) => {
  process.env["WRANGLER_SEND_METRICS"] = "false";
  const { hyperdrive, vars, ...rest } = unstable_readConfig({ config: join(root, "wrangler.toml") });
  return {
    ...rest,
    main: join(root, "test/support/evictable-worker.ts"),
    vars: {
      ...vars,
      ...Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("DROVER_OIDC_"))),
      DROVER_SECRET_KEY: secretKey,
      ...(adminToken === "" ? {} : { DROVER_ADMIN_TOKEN: adminToken }),
    },
    hyperdrive: hyperdrive.map((each: { binding: string }) => ({
      ...each,
      localConnectionString: databaseUrl,
    })),
  };
};
