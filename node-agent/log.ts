import { hiddenTexts } from "#shared/hidden-texts.ts";

/** One wide event an operation: `log.info("link.connected", { node })`. */
export interface Log {
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
}
export type Fields = Record<string, unknown>;
export type LogFormat = "json" | "pretty";

/** A log that never shows what it was told to hide, whatever field it is in, and no token by its looks. */
export type AgentLog = Log & { hide(secret: string): void };

type LogNeeds = { format: LogFormat; write: (line: string) => void; now?: () => Date };

/** A log of lines, each one event. */
export function createLog({ format, write, now = () => new Date() }: LogNeeds): AgentLog {
  const { hide, masked } = hiddenTexts();
  const at =
    (level: string) =>
    (event: string, fields: Fields = {}) => {
      const entry = { at: now().toISOString(), level, event, ...fields };
      write(`${masked(format === "json" ? JSON.stringify(entry) : pretty(entry))}\n`);
    };
  return {
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    hide,
  };
}

function pretty({
  at,
  level,
  event,
  ...fields
}: { at: string; level: string; event: string } & Fields): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return [
    at.slice(11, 19),
    level === "info" ? "" : level,
    event,
    ...shown.map(([name, value]) => `${name}=${plain(value)}`),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

const plain = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);

/** The reason of a failure in a few words, its cause included where the error itself says nothing. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message || error.name : String(error);
}
