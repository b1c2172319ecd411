// The Worker on workerd itself, with nothing before it: bundled as for a deploy, in a configuration that binds what wrangler.toml
// does. Its objects are in memory, and its way to the database goes by a pooler, as that of a Worker does by Hyperdrive.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import workerd from "workerd";
import { unstable_readConfig } from "wrangler";
import { bundleWorker } from "../test/support/worker-bundle.ts";

const root = join(import.meta.dirname, "..");

export type WorkerdOptions = { folder: string; databaseUrl: string; secrets: Record<string, string> };
export type Workerd = { url: string; close(): Promise<void> };

export async function startWorkerd({ folder, databaseUrl, secrets }: WorkerdOptions): Promise<Workerd> {
  await bundleWorker(folder);
  await writeFile(join(folder, "config.capnp"), configuration(databaseUrl, secrets));
  const child = spawn(workerd.default, ["serve", "config.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  return { url: `http://127.0.0.1:${await listening(child)}`, close: () => end(child) };
}

function configuration(databaseUrl: string, secrets: Record<string, string>): string {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const { compatibility_date: date, compatibility_flags: flags } = unstable_readConfig({
    config: join(root, "wrangler.toml"),
  });
  const text = (value: string): string => JSON.stringify(value);
  const bindings = [
    `(name = "LINK", durableObjectNamespace = "LinkObject")`,
    `(name = "HUB", durableObjectNamespace = "HubObject")`,
    `(name = "VERSION", json = "{}")`,
    `(name = "HYPERDRIVE", hyperdrive = (designator = "database", scheme = "postgres", database = ${text(pathname.slice(1))},` +
      ` user = ${text(username)}, password = ${text(decodeURIComponent(password))}))`,
    ...Object.entries(secrets).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "drover", worker = .drover),
    (name = "database", external = (address = "${hostname}:${port}", tcp = ())),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "drover")],
);
const drover :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = ${text(date ?? "")},
  compatibilityFlags = [${flags.map(text).join(", ")}],
  bindings = [${bindings.join(", ")}],
  durableObjectNamespaces = [
    (className = "LinkObject", uniqueKey = "link", enableSql = true),
    (className = "HubObject", uniqueKey = "hub", enableSql = true),
  ],
  durableObjectStorage = (inMemory = void),
);
`;
}

async function listening(child: ChildProcess): Promise<number> {
  const control = createInterface(child.stdio[3] as Readable);
  const [line] = (await Promise.race([once(control, "line"), once(child, "exit")])) as [unknown];
  if (typeof line !== "string") throw new Error("workerd ended before it listened");
  return (JSON.parse(line) as { port: number }).port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
