import { readFileSync } from "node:fs";
import { arch, availableParallelism, hostname, platform, totalmem } from "node:os";
import { accountOf } from "../process/environment.ts";
import type { NodeFacts } from "#shared/api/node.ts";

declare const __DROVER_VERSION__: string | undefined;

/** The version of the bundle, or of the checkout it runs from. */
export const agentVersion = (): string =>
  typeof __DROVER_VERSION__ === "string" ? __DROVER_VERSION__ : checkoutVersion();

function checkoutVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

/** What this machine is; in a container, what the container may use. */
export const machineFacts = (maxProcesses: number, enforces: string[]): NodeFacts => ({
  version: agentVersion(),
  os: platform(),
  arch: arch(),
  hostname: hostname(),
  cpus: availableParallelism(),
  memBytes: usableMemory(),
  enforces,
  user: accountOf(process.env).name,
  maxProcesses,
});

function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem();
}

/** The hostname as a node's name: letters, digits, '.', '_' and '-', at most 63. */
export function nameFromHost(host = hostname()): string {
  const plain = host
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^(node_|[^A-Za-z0-9])+/, "")
    .slice(0, 63);
  return plain === "" ? "node" : plain;
}
