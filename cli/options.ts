import { InvalidArgumentError } from "commander";
import { parseDuration } from "#shared/duration.ts";

/** A duration such as `30s` or `1h30m`, in milliseconds. */
export function duration(text: string): number {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError(parsed.error);
  return parsed.ms;
}

/** A duration that must last: a limit of nothing is a mistake. */
export function limit(text: string): number {
  const ms = duration(text);
  if (ms < 1) throw new InvalidArgumentError("It must be longer than nothing.");
  return ms;
}

/** A whole number that is not negative. */
export function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

const sizeUnits = ["", "K", "M", "G", "T"];

/** A size such as `4096`, `64M` or `1.5GiB`, in bytes; units are powers of 1024. */
export function bytes(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new InvalidArgumentError("Give a size such as 4096, 64M or 1G.");
  return Math.round(Number(amount) * 1024 ** sizeUnits.indexOf(unit.toUpperCase()));
}

/** A repeatable `NAME=VALUE`. */
export function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Give NAME=VALUE.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Like `pair`; a bare NAME takes its value from the environment of this call. */
export function environment(text: string, before: Record<string, string> = {}): Record<string, string> {
  if (text.includes("=")) return pair(text, before);
  const value = process.env[text];
  if (value === undefined) throw new InvalidArgumentError(`${text} is not set here: give ${text}=VALUE.`);
  return { ...before, [text]: value };
}

/** How a result is shown. */
export type Shape = "table" | "json";

export function shape(text: string): Shape {
  if (text === "table" || text === "json") return text;
  throw new InvalidArgumentError("Give table or json.");
}
