import { withoutTokens } from "#shared/secret-text.ts";
import type { Log } from "../needs.ts";
import type { LogFormat } from "./settings.ts";

/** A log that shows nothing it was told to hide, and no token by its looks. */
export type MaskingLog = Log & { hide(secret: string): void };

type Fields = Record<string, unknown>;
type Level = "info" | "warn" | "error";

/** One line an event; debug events are left out. */
export const createLog = (format: LogFormat, write: (line: string) => void): MaskingLog => {
  const secrets = new Set<string>();
  const masked = (line: string): string =>
    withoutTokens([...secrets].reduce((text, secret) => text.replaceAll(secret, "***"), line));
  const at =
    (level: Level) =>
    (event: string, fields: Fields = {}) => {
      const entry = { at: new Date().toISOString(), level, event, ...plainErrors(fields) };
      write(`${masked(format === "json" ? JSON.stringify(entry) : pretty(entry))}\n`);
    };
  return {
    debug: () => {},
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    hide: (secret) => void secrets.add(secret),
  };
};

const plainErrors = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? errorText(value) : value]),
  );

const errorText = (error: Error): string => {
  const cause = error.cause instanceof Error ? `\ncaused by ${errorText(error.cause)}` : "";
  return `${error.stack ?? error.message}${cause}`;
};

const pretty = ({
  at,
  level,
  event,
  ...fields
}: { at: string; level: Level; event: string } & Fields): string => {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return [
    at.slice(11, 19),
    ...(level === "info" ? [] : [level]),
    event,
    ...shown.map(([name, value]) => `${name}=${plain(value)}`),
  ].join(" ");
};

const plain = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
