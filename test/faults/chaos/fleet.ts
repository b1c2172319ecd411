// The product under the storm: control planes on one database, and agents. Between any two programs that speak with each
// other there is a proxy, so that each line can be broken by itself:
//   client ── "client cp1" ──▶ cp1 ── "database cp1" ──▶ Postgres
//   n1 ── "agent n1" ──▶ one of the control planes, another one when its own is taken down
// Everything lies in one temporary folder, whose name tells what is left of it.
import { randomBytes } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../support/eventually.ts";
import { Proxy } from "../../support/proxy.ts";
import { endAllNow, endAllOf } from "../../support/sweep.ts";
import { embeddedDatabase, externalDatabase, type KillableDatabase } from "./database.ts";
import { Findings } from "./findings.ts";
import { Kept } from "./kept.ts";
import type { ChaosOptions } from "./options.ts";

export type ControlPlane = { name: string; kept: Kept; port: number; client: Proxy };
export type Agent = { name: string; kept: Kept; line: Proxy; home: ControlPlane };

export class Fleet {
  readonly folder = temporaryFolder();
  readonly token = `drva_${randomBytes(24).toString("base64url")}`;
  readonly controlPlanes: ControlPlane[] = [];
  readonly agents: Agent[] = [];
  readonly lines = new Map<string, Proxy>();
  readonly findings = new Findings();
  readonly #options: ChaosOptions;
  readonly #secretKey = randomBytes(32).toString("base64");
  #database: KillableDatabase | undefined;

  constructor(options: ChaosOptions) {
    this.#options = options;
    process.once("exit", this.#leaveNothing);
  }

  /** A run that is ended early leaves nothing either. */
  readonly #leaveNothing = (): void => {
    endAllNow(this.folder);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };

  get database(): KillableDatabase {
    if (this.#database === undefined) throw new Error("the fleet was not started");
    return this.#database;
  }

  /** Where processes write that they run; one line each. */
  get effects(): string {
    return join(this.folder, "effects");
  }

  async start(): Promise<void> {
    // The database runs as another user, who must pass through.
    chmodSync(this.folder, 0o711);
    mkdirSync(join(this.folder, "home"));
    const { controlPlanes, database } = this.#options;
    const dataDir = join(this.folder, database === "embedded" ? "cp1" : "database");
    mkdirSync(dataDir, { mode: 0o711 });
    this.#database = database === "embedded" ? embeddedDatabase(dataDir) : await externalDatabase(dataDir);
    // One after the other: the first one brings the schema up to date.
    for (let n = 1; n <= controlPlanes; n++) await this.#addControlPlane(`cp${n}`);
  }

  async #addControlPlane(name: string): Promise<void> {
    const { address } = this.database;
    const line = address && (await this.#line(`database ${name}`, address.port));
    const url = address && line && urlAt(address.url, line.port);
    const client = await this.#line(`client ${name}`, 1);
    const env = (): Record<string, string> => ({
      ...(url === undefined ? {} : { DATABASE_URL: url }),
      DROVER_ADMIN_TOKEN: this.token,
      DROVER_SECRET_KEY: this.#secretKey,
      DROVER_PORT: String(made.port),
      DROVER_DATA_DIR: join(this.folder, name),
    });
    const ready = "Drover listens on ";
    const made: ControlPlane = { name, port: 0, client, kept: this.#keep(name, () => ["serve"], env, ready) };
    made.kept.up();
    await made.kept.ready();
    made.port = Number(/Drover listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(made.kept.log)?.[1]);
    client.target = made.port;
    this.controlPlanes.push(made);
  }

  /** Starts a new agent with its join token; resolves when it has its link. */
  async addAgent(name: string, joinToken: string, maxProcesses: number): Promise<void> {
    const home = this.controlPlanes[this.agents.length % this.controlPlanes.length];
    if (home === undefined) throw new Error("no control plane");
    const line = await this.#line(`agent ${name}`, home.port);
    const words = (): string[] => [
      ...["agent", "--url", line.url, "--name", name, "--data-dir", join(this.folder, name)],
      ...["--max-processes", String(maxProcesses)],
    ];
    const kept = this.#keep(name, words, () => ({ DROVER_JOIN_TOKEN: joinToken }), "link.connected");
    this.agents.push({ name, kept, line, home });
    kept.up();
    await kept.ready();
  }

  async #line(name: string, target: number): Promise<Proxy> {
    const proxy = await Proxy.to(target);
    this.lines.set(name, proxy);
    return proxy;
  }

  #keep(name: string, words: () => string[], env: () => Record<string, string>, ready: string): Kept {
    const { logs } = this.#options;
    const path = logs && join(logs, `${name}.log`);
    const home = join(this.folder, "home");
    const own = { HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_DATA_HOME: join(home, "data") };
    const all = () => ({ PATH: process.env["PATH"] ?? "", ...own, DROVER_LOG: "json", ...env() });
    const heard = (text: string): void => {
      if (path) appendFileSync(path, text);
      this.findings.hear(name, text);
    };
    return new Kept({ name, words, env: all, ready, heard, fell: (end) => this.findings.fell(end) });
  }

  /** Ends everything and removes every trace, whatever state it is in. */
  async close(): Promise<void> {
    const programs = [...this.agents, ...this.controlPlanes].map(({ kept }) => kept.down("SIGKILL"));
    await Promise.all(programs);
    await endAllOf(this.folder);
    await this.#database?.stop();
    await Promise.all([...this.lines.values()].map((line) => line.close()));
    this.#leaveNothing();
    process.off("exit", this.#leaveNothing);
  }
}

function urlAt(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}
