// The real product of one test file: a control plane and its agents as programs of their own, each with its own data
// folder, under one temporary folder with a space in its name. HOME of all lies in there too, so that whatever is left
// of a test can be found by the folder's name. The port is a free one, kept over restarts.
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { NodeView } from "#shared/api/node.ts";
import { runtime as node, serve } from "../conformance/runtimes/node.ts";
import type { Running, Runtime, StartOptions } from "../conformance/runtimes/runtime.ts";
import { Api } from "./api.ts";
import { Daemon, type Ended } from "./daemon.ts";
import { eventually, temporaryFolder } from "./eventually.ts";
import { testDatabase, type TestDatabase } from "./postgres.ts";
import { endAllOf } from "./sweep.ts";

const readyMs = 60_000;

export type ProductOptions = {
  /** The agents to begin with, by their names. */
  agents?: string[];
  /** More environment for the control plane. */
  env?: Record<string, string>;
  /** Instead of a database of its own on the run's server. */
  databaseUrl?: string;
  /** What the control plane runs on; Node if not given. */
  runtime?: Runtime;
};

export type AgentOptions = {
  /** Where it connects to; the control plane itself if not given. */
  url?: string;
  env?: Record<string, string>;
  flags?: string[];
  inherited?: number[];
};

export class Product {
  readonly folder = temporaryFolder();
  readonly token = `drva_${randomBytes(24).toString("base64url")}`;
  /** What all control planes of this product seal with. */
  readonly secretKey = randomBytes(32).toString("base64");
  readonly agents = new Map<string, Agent>();
  api: Api = new Api("http://127.0.0.1:1", this.token);
  databaseUrl = "";
  controlPlane: Running | undefined;
  readonly #options: ProductOptions;
  readonly #others: Daemon[] = [];
  #database: TestDatabase | undefined;
  #port = 0;

  constructor(options: ProductOptions = {}) {
    this.#options = options;
  }

  /** The environment of a user who has nothing but this product. */
  get env(): Record<string, string> {
    const home = join(this.folder, "home");
    return {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_DATA_HOME: join(home, "data"),
      DROVER_LOG: "json",
    };
  }

  /** The environment of the CLI that uses it. */
  get cliEnv(): Record<string, string> {
    return { ...this.env, DROVER_URL: this.api.url, DROVER_TOKEN: this.token };
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    mkdirSync(join(this.folder, "home"));
    this.#database = this.#options.databaseUrl === undefined ? await testDatabase() : undefined;
    this.databaseUrl = this.#options.databaseUrl ?? this.#database?.url ?? "";
    await this.startControlPlane();
    await Promise.all((this.#options.agents ?? []).map((name) => this.agent(name)));
  }

  /** Starts the control plane, again on its port; resolves when it answers. */
  async startControlPlane(): Promise<void> {
    const { runtime = node } = this.#options;
    this.controlPlane = await runtime.start(this.#startOptions("control plane", this.#port));
    this.#port = portOf(this.controlPlane.url);
    this.api = new Api(this.controlPlane.url, this.token);
  }

  /** Another control plane on the same database. */
  async anotherControlPlane(
    more: Record<string, string> = {},
  ): Promise<{ daemon: Daemon; port: number; api: Api }> {
    const { env, ...options } = this.#startOptions(`control plane ${this.#others.length + 2}`, 0);
    const { daemon, url } = await serve({ ...options, env: { ...env, ...more } });
    this.#others.push(daemon);
    return { daemon, port: portOf(url), api: new Api(url, this.token) };
  }

  #startOptions(name: string, port: number): StartOptions {
    return {
      databaseUrl: this.databaseUrl,
      adminToken: this.token,
      secretKey: this.secretKey,
      port,
      dataDir: join(this.folder, name),
      env: { ...this.env, ...this.#options.env },
    };
  }

  async killControlPlane(): Promise<void> {
    await this.controlPlane?.kill();
  }

  /** Starts a new agent; resolves when its node is online. */
  async agent(name: string, options: AgentOptions = {}): Promise<Agent> {
    const { token } = await this.api.get<{ token: string }>("POST /v1/join-tokens", {
      body: { nodeName: name },
    });
    const agent = new Agent(this, name, { ...options, env: { ...options.env, DROVER_JOIN_TOKEN: token } });
    this.agents.set(name, agent);
    await agent.start();
    await this.status(name, "online");
    return agent;
  }

  node(name: string): Promise<NodeView> {
    return this.api.get<NodeView>(`GET /v1/nodes/${name}`);
  }

  /** Waits until a node is seen as such. */
  status(name: string, status: NodeView["status"]): Promise<void> {
    return eventually(async () => (await this.node(name)).status === status, readyMs);
  }

  get log(): string {
    const agents = [...this.agents.values()].map(
      (agent) => `--- agent ${agent.name}\n${agent.daemon?.log ?? ""}`,
    );
    const controlPlanes = [this.controlPlane, ...this.#others].map(
      (each) => `--- control plane\n${each?.log ?? ""}`,
    );
    return [...controlPlanes, ...agents].join("\n");
  }

  /** Ends everything and removes every trace, whatever state it is in. */
  async close(): Promise<void> {
    const agents = [...this.agents.values()].map((agent) => agent.daemon);
    for (const daemon of [...agents, ...this.#others]) daemon?.kill("SIGKILL");
    await this.controlPlane?.kill();
    await endAllOf(this.folder);
    await this.#database?.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const portOf = (url: string): number => Number(new URL(url).port);

export class Agent {
  readonly name: string;
  readonly dataDir: string;
  daemon: Daemon | undefined;
  readonly #product: Product;
  readonly #options: AgentOptions;

  constructor(product: Product, name: string, options: AgentOptions) {
    this.#product = product;
    this.name = name;
    this.dataDir = join(product.folder, `agent ${name}`);
    this.#options = options;
  }

  get words(): string[] {
    return [
      "agent",
      "--url",
      this.#options.url ?? this.#product.api.url,
      "--name",
      this.name,
      "--data-dir",
      this.dataDir,
      ...(this.#options.flags ?? []),
    ];
  }

  /** Starts it on its data folder; resolves when it has its link. */
  async start(): Promise<void> {
    const { inherited = [], env = {} } = this.#options;
    this.daemon = new Daemon(this.words, { env: { ...this.#product.env, ...env }, inherited });
    await this.daemon.seen("link.connected");
  }

  /** Kills it as a crash does: what it started lives on. */
  async kill(): Promise<void> {
    await this.daemon?.end("SIGKILL");
  }

  /** Stops it in order; what it started lives on. */
  async stop(): Promise<Ended | undefined> {
    return this.daemon?.end("SIGTERM");
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}

/** One product for all tests of a file or block; what it said is shown when one fails. */
export function useProduct(options: ProductOptions = {}): Product {
  const product = new Product(options);
  beforeAll(() => product.start(), 120_000);
  afterEach(({ task }) => {
    if (task.result?.state === "fail") console.error(product.log.slice(-20_000));
  });
  afterAll(() => product.close(), 120_000);
  return product;
}
