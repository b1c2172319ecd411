import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { maxLimitMs } from "#shared/api/common.ts";
import { parseDuration } from "#shared/duration.ts";
import type { Limits, SignInConfig } from "../needs.ts";
import { SettingError } from "./setting-error.ts";
import { signInFromEnv } from "./sign-in-settings.ts";

export { SettingError };

/** Whether a person can mend it: a SettingError, or one of the embedded database's own codes. A bug keeps its trace. */
export const isForPeople = (error: unknown): error is Error =>
  error instanceof Error &&
  (error.name === "SettingError" || ("code" in error && /^[a-z_]+$/.test(String(error.code))));

export type LogFormat = "json" | "pretty";

export type SecretKeys = [current: Uint8Array<ArrayBuffer>, ...older: Uint8Array<ArrayBuffer>[]];

export type Settings = {
  host: string;
  /** 0 takes any free port. */
  port: number;
  dataDir: string;
  /** Undefined: an embedded database in the data folder. */
  databaseUrl: string | undefined;
  /** Undefined: made once into the data folder. */
  adminToken: string | undefined;
  /** 32 bytes each, the current one first; undefined: made once into the data folder. */
  secretKeys: SecretKeys | undefined;
  /** Undefined: where it listens. */
  publicUrl: string | undefined;
  /** What ran on a node that has been away for this time is lost. */
  nodeGoneMs: number;
  /** Entries of the audit are kept for this time. */
  auditRetentionMs: number;
  /** Starts that may wait on all nodes together. */
  maxQueued: number;
  signIn: SignInConfig;
  limits: Limits;
  /** Whose `X-Forwarded-For` is believed; see client-address.ts. */
  trustedProxies: string | undefined;
  log: LogFormat;
};

type Env = Record<string, string | undefined>;
export type Flags = {
  host?: string;
  port?: string;
  dataDir?: string;
  databaseUrl?: string;
  publicUrl?: string;
};

/** The settings of a control plane; flags win over the environment, an empty value counts as unset. */
export const settingsFromEnv = (env: Env, flags: Flags = {}): Settings => {
  const port = given(flags.port, env["DROVER_PORT"]);
  const databaseUrl = given(flags.databaseUrl, env["DATABASE_URL"]);
  const publicUrl = given(flags.publicUrl, env["DROVER_PUBLIC_URL"]);
  const adminToken = given(env["DROVER_ADMIN_TOKEN"]);
  const secretKeys = given(env["DROVER_SECRET_KEY"]);
  return {
    host: given(flags.host, env["DROVER_HOST"]) ?? "127.0.0.1",
    port: port === undefined ? 4600 : portNumber(port),
    dataDir: resolve(given(flags.dataDir, env["DROVER_DATA_DIR"]) ?? defaultDataDir(env)),
    databaseUrl: databaseUrl && postgresUrl(databaseUrl),
    adminToken: adminToken && token(adminToken),
    secretKeys: secretKeys === undefined ? undefined : keysIn(secretKeys),
    publicUrl: publicUrl && webUrl(publicUrl),
    maxQueued: wholeNumber(env, "DROVER_MAX_QUEUED", 100_000),
    limits: {
      requestsPerToken: requestsPerToken(env),
      requestsPerAddress: wholeNumber(env, "DROVER_REQUESTS_PER_ADDRESS", 200),
      failedPerMinute: wholeNumber(env, "DROVER_FAILED_PER_MINUTE", 60),
      openPerToken: wholeNumber(env, "DROVER_OPEN_PER_TOKEN", 5000),
    },
    trustedProxies: given(env["DROVER_TRUSTED_PROXIES"]),
    nodeGoneMs: nodeGoneMs(given(env["DROVER_NODE_GONE_AFTER"]) ?? "7d"),
    signIn: signInFromEnv(env),
    auditRetentionMs: auditRetentionMs(given(env["DROVER_AUDIT_RETENTION"]) ?? "365d"),
    log: logFormat(given(env["DROVER_LOG"])),
  };
};

const given = (...values: (string | undefined)[]): string | undefined =>
  values.find((value) => value !== undefined && value !== "");

const portNumber = (text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new SettingError("DROVER_PORT (--port) must be a number from 0 to 65535");
  return port;
};

const postgresUrl = (text: string): string => {
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
    throw new SettingError(
      "DATABASE_URL (--database-url) must be a URL like postgres://user:password@host:5432/name",
    );
  return text;
};

const webUrl = (text: string): string => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new SettingError("DROVER_PUBLIC_URL (--public-url) must be an http or https URL");
  return text.replace(/\/+$/, "");
};

// A node that is only just offline may be on its way back; a limit below that would lose what still runs.
const leastNodeGoneMs = 3_600_000;

const wholeNumber = (env: Env, name: string, otherwise: number): number => {
  const text = given(env[name]);
  if (text === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(text)) throw new SettingError(`${name} must be a whole number, 0 or more`);
  return Number(text);
};

// What the contract promises to whoever has a token.
const leastPerToken = 500;

const requestsPerToken = (env: Env): number => {
  const rate = wholeNumber(env, "DROVER_REQUESTS_PER_TOKEN", 2000);
  if (rate !== 0 && rate < leastPerToken)
    throw new SettingError(`DROVER_REQUESTS_PER_TOKEN must be ${leastPerToken} or more, or 0 for no limit`);
  return rate;
};

const nodeGoneMs = (text: string): number => {
  const parsed = parseDuration(text);
  if (!parsed.ok || parsed.ms < leastNodeGoneMs || parsed.ms > maxLimitMs)
    throw new SettingError("DROVER_NODE_GONE_AFTER must be a duration from 1h to 3650d, such as 7d");
  return parsed.ms;
};

// The database itself lets no entry go that is younger.
const leastAuditMs = 24 * 3_600_000;

const auditRetentionMs = (text: string): number => {
  const parsed = parseDuration(text);
  if (!parsed.ok || parsed.ms < leastAuditMs || parsed.ms > maxLimitMs)
    throw new SettingError("DROVER_AUDIT_RETENTION must be a duration from 1d to 3650d, such as 365d");
  return parsed.ms;
};

const token = (text: string): string => {
  if (!/^[\x21-\x7e]{1,512}$/.test(text))
    throw new SettingError("DROVER_ADMIN_TOKEN must be at most 512 printable characters without spaces");
  return text;
};

/** The secret keys of a text, 32 bytes in base64 each, apart by commas or white space; `where` names the setting in the error. */
export const keysIn = (text: string, where = "DROVER_SECRET_KEY"): SecretKeys => {
  const [current, ...older] = text.split(/[\s,]+/).filter((word) => word !== "");
  const bytes = (word: string | undefined) => keyBytes(word ?? "", where);
  return [bytes(current), ...older.map(bytes)];
};

const keyBytes = (text: string, where: string): Uint8Array<ArrayBuffer> => {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text) || bytes.length !== 32)
    throw new SettingError(
      `${where} must hold 32 bytes in base64, or several of that with commas between them`,
    );
  return bytes;
};

const logFormat = (text: string | undefined): LogFormat => {
  if (text === undefined) return process.stderr.isTTY ? "pretty" : "json";
  if (text !== "json" && text !== "pretty") throw new SettingError("DROVER_LOG must be json or pretty");
  return text;
};

const defaultDataDir = (env: Env): string => {
  if (isRoot()) return "/var/lib/drover";
  const base = given(env["XDG_DATA_HOME"]);
  return base !== undefined && isAbsolute(base)
    ? join(base, "drover")
    : join(given(env["HOME"]) ?? homedir(), ".local/share/drover");
};

const isRoot = (): boolean => {
  try {
    return process.getuid?.() === 0;
  } catch {
    // Deno tells it only where that is allowed, which it has to be for a database in this folder.
    return false;
  }
};
