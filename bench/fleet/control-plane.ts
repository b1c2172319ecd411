// `drover serve` on a database that it shares, as a program that can be killed and started again on its port.

import { randomBytes } from "node:crypto";
import { createClient, type Client } from "../client.ts";
import { adminToken, environment } from "../product.ts";
import { Program } from "../program.ts";

const startWithinMs = 60_000;
const stopWithinMs = 20_000;
/** Of all control planes of a bench: they share what is sealed. */
const secretKey = randomBytes(32).toString("base64");

export type ControlPlane = {
  client: Client;
  host: string;
  port: number;
  pid(): number;
  /** Where its inspector listens. */
  inspectorUrl(): string;
  kill(): Promise<void>;
  /** Starts it again where it was, after a kill; resolves when it listens. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export async function startControlPlane(place: {
  bin: string;
  folder: string;
  databaseUrl: string;
}): Promise<ControlPlane> {
  const { bin, folder, databaseUrl } = place;
  const env = {
    ...environment(folder),
    DATABASE_URL: databaseUrl,
    DROVER_SECRET_KEY: secretKey,
  };
  const start = (port: number): Promise<Serving> =>
    serve({ bin, env: { ...env, DROVER_PORT: String(port) } });
  let serving = await start(0);
  const port = Number(serving.url.port);
  const client = createClient(serving.url.href, adminToken);
  return {
    client,
    host: serving.url.hostname,
    port,
    pid: () => serving.program.pid,
    inspectorUrl: () => serving.inspectorUrl,
    kill: () => serving.program.kill(),
    restart: async () => void (serving = await start(port)),
    async close() {
      client.close();
      await serving.program.stop(stopWithinMs);
    },
  };
}

type Serving = { program: Program; url: URL; inspectorUrl: string };

async function serve(how: { bin: string; env: Record<string, string> }): Promise<Serving> {
  const program = new Program(["serve"], { ...how, nodeOptions: ["--inspect=127.0.0.1:0"] });
  const said = async (pattern: RegExp): Promise<string> =>
    (await program.seen(pattern, startWithinMs))[1] ?? "";
  try {
    const inspectorUrl = await said(/Debugger listening on (ws:\S+)/);
    return { program, url: new URL(await said(/listens on (http:\S+)/)), inspectorUrl };
  } catch (error) {
    await program.stop(0);
    throw error;
  }
}
