import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { labels, nodeName } from "#shared/api/common.ts";
import type { LogFormat } from "./log.ts";

/** The agent cannot start as it was asked to: one line for a person, exit code 2. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

export type AgentConfig = {
  /** Where the control plane is; undefined: where this node enrolled. */
  url: string | undefined;
  /** Needed for the first start only. */
  joinToken: string | undefined;
  /** Undefined: the hostname. */
  name: string | undefined;
  labels: Record<string, string>;
  dataFolder: string;
  maxProcesses: number;
  /** A cgroup v2 folder that is delegated to the agent, or `own`: the one it was started in; undefined: none. */
  cgroup: string | undefined;
  /** Whether an orderly stop of the agent ends its processes. */
  stopProcesses: boolean;
  logFormat: LogFormat;
};

export type Environment = Record<string, string | undefined>;

/** Environment variables of the agent that no command may ever see. */
export const secretVariables = ["DROVER_JOIN_TOKEN"] as const;

export const usage = `drover agent --url URL --token TOKEN [options]

  --url URL            the control plane (DROVER_URL)
  --token TOKEN        the join token, for the first start only (DROVER_JOIN_TOKEN)
  --name NAME          the node's name; the hostname if not given (DROVER_AGENT_NAME)
  --label KEY=VALUE    a label of the node, may be repeated
  --data-dir FOLDER    where identity, output and endings are kept (DROVER_AGENT_DATA_DIR)
  --max-processes N    how many processes may run at once (256)
  --stop-processes     end the processes when the agent is stopped, instead of leaving them running
`;

const options = {
  url: { type: "string" },
  token: { type: "string" },
  name: { type: "string" },
  label: { type: "string", multiple: true },
  "data-dir": { type: "string" },
  "max-processes": { type: "string" },
  "stop-processes": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** Flags and environment, flags first; undefined when help was asked for. A wrong setting throws StartRefused naming it. */
export function readConfig(argv: string[], env: Environment): AgentConfig | undefined {
  const flags = readFlags(argv);
  if (flags.help) return undefined;
  const url = setting(flags.url, env.DROVER_URL);
  const name = setting(flags.name, env.DROVER_AGENT_NAME);
  return {
    url: url && checked("--url", serverUrl, url),
    joinToken: setting(flags.token, env.DROVER_JOIN_TOKEN),
    name: name && checked("--name", nodeName, name),
    labels: checked("--label", labels, Object.fromEntries((flags.label ?? []).map(labelPair))),
    dataFolder: resolve(setting(flags["data-dir"], env.DROVER_AGENT_DATA_DIR) ?? defaultDataFolder(env)),
    maxProcesses: checked("--max-processes", processLimit, flags["max-processes"] ?? "256"),
    cgroup: setting(env.DROVER_CGROUP),
    stopProcesses: flags["stop-processes"] ?? false,
    logFormat: checked(
      "DROVER_LOG",
      z.enum(["json", "pretty"], "must be json or pretty"),
      setting(env.DROVER_LOG) ?? "pretty",
    ),
  };
}

function readFlags(argv: string[]) {
  try {
    return parseArgs({ args: argv, options, strict: true }).values;
  } catch (error) {
    // The parser's advice behind the first sentence is about its own options.
    throw new StartRefused(
      error instanceof Error ? (error.message.split(/\.\s/)[0] ?? error.message) : String(error),
    );
  }
}

/** The first value that is set; an empty one counts as unset. */
const setting = (...values: (string | undefined)[]): string | undefined =>
  values.find((value) => value !== undefined && value !== "");

function checked<T extends z.ZodType>(what: string, schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new StartRefused(`${what}: ${parsed.error.issues[0]?.message ?? "is not valid"}`);
}

function labelPair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new StartRefused(`--label: ${JSON.stringify(text)} is not key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

const processLimit = z
  .string()
  .regex(/^\d{1,6}$/, "must be a whole number")
  .transform(Number)
  .refine((count) => count >= 1 && count <= 100_000, "must be from 1 to 100000");

const serverUrl = z
  .string()
  .refine(
    (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""),
    "must be an http:// or https:// address",
  )
  .refine(
    (text) => !/[?#]/.test(text) && URL.parse(text)?.username === "",
    "must be an address only, without a user, '?' or '#'",
  )
  .transform((text) => (URL.parse(text)?.href ?? text).replace(/\/+$/, ""));

function defaultDataFolder(env: Environment): string {
  if (process.getuid?.() === 0) return "/var/lib/drover-agent";
  const shared = setting(env.XDG_DATA_HOME);
  return join(shared && isAbsolute(shared) ? shared : join(homedir(), ".local", "share"), "drover-agent");
}
