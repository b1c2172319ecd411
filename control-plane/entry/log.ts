import { hiddenTexts } from "#shared/hidden-texts.ts";
import type { Log } from "../needs.ts";
import type { LogFormat } from "./settings.ts";

type Fields = Record<string, unknown>;
type Level = "info" | "warn" | "error";

/** A log that shows nothing it was told to hide, and no token by its looks. One line an event; debug events are left out. */
export const createLog = (format: LogFormat, write: (line: string) => void): Log => {
  const { hide, masked } = hiddenTexts();
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
    hide,
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
