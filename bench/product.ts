// Drover as a user starts it, on loopback with empty data folders and its own database: `serve`, a join token, `agent`.
// Ending it ends in this order what was started: the agent with its processes, the control plane with its database,
// and the database server by itself where the control plane did not get to it.

import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessView } from "#shared/api/process.ts";
import { createClient, type Client } from "./client.ts";
import { childrenOf, commandLine } from "./proc.ts";
import { Program } from "./program.ts";

export const adminToken = "bench-admin-token-0123456789abcdef";
const node = "bench";
const startWithinMs = 60_000;
const stopWithinMs = 20_000;

export type ExecAnswer = ProcessView & { result: { text: string } };

export type Product = {
  url: string;
  /** The path of the `drover` it was started with. */
  bin: string;
  client: Client;
  agentPid: number;
  /** The environment in which the CLI talks to it. */
  env: Record<string, string>;
  /** How long what took, from the start of the first program. */
  startedMs: { listening: number; online: number };
  /** Starts a process here and waits for its end. */
  exec(body: Record<string, unknown>): Promise<ExecAnswer>;
  start(body: Record<string, unknown>): Promise<ProcessView>;
  /** How many connections the database server has open. */
  databaseConnections(): Promise<number>;
  close(): Promise<void>;
};

type Place = {
  bin: string;
  folder: string;
  profile: string | undefined;
  controlPlane?: ControlPlane | undefined;
};
/** Another control plane than `drover serve`: its words, and what its environment has besides. */
export type ControlPlane = { program: string[]; env: Record<string, string> };

export async function startProduct({ bin, folder, profile, controlPlane }: Place): Promise<Product> {
  const from = performance.now();
  const data = join(folder, "data");
  await mkdir(folder);
  // As root, the database runs as another user, who must be able to pass.
  await chmod(folder, 0o755);
  const options = { bin, env: environment(folder), nodeOptions: profiling(profile) };
  const programs = [
    controlPlane === undefined ? new Program(["serve"], options) : other(controlPlane, options),
  ];
  const close = (): Promise<void> => endAll(programs, data);
  try {
    const url = (await programs[0]?.seen(/listens on (http:\S+)/, startWithinMs))?.[1] ?? "";
    const listening = performance.now() - from;
    const client = createClient(url, adminToken);
    const agent = await startAgent(client, url, options);
    programs.unshift(agent);
    await untilOnline(client);
    const startedMs = { listening, online: performance.now() - from };
    const env = { ...options.env, DROVER_URL: url, DROVER_TOKEN: adminToken };
    const whole = async (): Promise<void> => (client.close(), close());
    return {
      url,
      bin,
      client,
      agentPid: agent.pid,
      env,
      startedMs,
      ...calls(client),
      databaseConnections: () => connectionsOf(data),
      close: whole,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const other = ({ program, env }: ControlPlane, options: ConstructorParameters<typeof Program>[1]): Program =>
  new Program([], { ...options, program, env: { ...options.env, ...env } });

const calls = (client: Client) => ({
  exec: (body: Record<string, unknown>) =>
    client.post<ExecAnswer>("/v1/processes?waitMs=300000", { node, ...body }),
  start: (body: Record<string, unknown>) => client.post<ProcessView>("/v1/processes", { node, ...body }),
});

/** The environment of a program whose data are below this folder: nothing of the user's own Drover may be met. */
export function environment(folder: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !/^(DROVER_|DATABASE_URL)/.test(name),
  );
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    XDG_CONFIG_HOME: join(folder, "config"),
    DROVER_DATA_DIR: join(folder, "data"),
    DROVER_AGENT_DATA_DIR: join(folder, "agent"),
    DROVER_HOST: "127.0.0.1",
    DROVER_PORT: "0",
    DROVER_ADMIN_TOKEN: adminToken,
    // All that a bench asks comes from one address and by one token.
    DROVER_REQUESTS_PER_ADDRESS: "0",
    DROVER_REQUESTS_PER_TOKEN: "0",
  };
}

const profiling = (folder: string | undefined): string[] =>
  folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}`];

async function startAgent(
  client: Client,
  url: string,
  options: ConstructorParameters<typeof Program>[1],
): Promise<Program> {
  const { token: joinToken } = await client.post<{ token: string }>("/v1/join-tokens", { nodeName: node });
  const env: Record<string, string> = { ...options.env, DROVER_JOIN_TOKEN: joinToken };
  delete env["DROVER_ADMIN_TOKEN"];
  return new Program(["agent", "--url", url, "--name", node, "--stop-processes"], { ...options, env });
}

async function untilOnline(client: Client): Promise<void> {
  const deadline = performance.now() + startWithinMs;
  const isOnline = async (): Promise<boolean> =>
    (await client.get<{ data: { status: string }[] }>("/v1/nodes")).data.some(
      ({ status }) => status === "online",
    );
  while (!(await isOnline())) {
    if (performance.now() > deadline) throw new Error("the agent does not come online");
    await delay(10);
  }
}

const postmaster = async (data: string): Promise<number> =>
  // No file, no server.
  Number((await readFile(join(data, "postgres/postmaster.pid"), "utf8").catch(() => "")).split("\n")[0]);

// A server process for a client is named `postgres: user database address …`.
async function connectionsOf(data: string): Promise<number> {
  const lines = await Promise.all((await childrenOf(await postmaster(data))).map(commandLine));
  return lines.filter((line) => /^postgres: \S+ \S+ (\[local\]|[\d.:]+\(\d+\))/.test(line)).length;
}

async function endAll(programs: Program[], data: string): Promise<void> {
  const pid = await postmaster(data);
  for (const program of programs) await program.stop(stopWithinMs);
  if (pid > 0 && (await commandLine(pid)).includes(data)) process.kill(pid, "SIGINT");
}
