import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { Survivor } from "#shared/survivor.ts";
import type { ProcessFolder } from "./folder.ts";
import { type Beyond, type Mask, masked, maskOf } from "./mask.ts";

/**
 * Where the values of secrets that a process was given are hidden: in this agent, where its files are read, and so on every
 * way out. Everything that reads output does so through output.ts, which asks here; nobody else opens the files.
 *
 * The values lie in the file `mask` of the process's folder, 0600 as the output is, from the claim of the start until the
 * folder goes: so they are known as long as there is anything to hide, to whichever agent reads it. An unreadable file
 * fails the read. A process without secrets has no such file, and its reads cost one look for it.
 */
const values = z.array(z.string());

/** Written before anything is said of the process. */
export const writeMask = (folder: ProcessFolder, hidden: string[]): void =>
  writeFileSync(folder.mask, JSON.stringify(hidden), { mode: 0o600 });

export const readMask = (folder: ProcessFolder): Mask | undefined =>
  existsSync(folder.mask) ? maskOf(values.parse(JSON.parse(readFileSync(folder.mask, "utf8")))) : undefined;

type Range = { from: number; to: number };
/** What has to be read so that a range can be shown. */
export type Look = Range & { mask: Mask | undefined; shown: Range; kept: Range };

/** The range, and as much around it as the mask has to see; `kept` are the bounds between which bytes are kept. */
export const lookAt = (shown: Range, kept: Range, mask: Mask | undefined): Look => ({
  ...{ mask, shown, kept },
  from: Math.max(Math.min(kept.from, shown.from), shown.from - (mask?.reach ?? 0)),
  to: Math.min(Math.max(kept.to, shown.to), shown.to + (mask?.reach ?? 0)),
});

/** The shown part of what was read from `look.from` on, as far as there was something; `open` as `masked` says it. */
export const shownOf = (look: Look, read: Buffer): { bytes: Buffer; open: number } => {
  const { bytes, open } = look.mask
    ? masked(read, look.mask, { before: before(look), after: after(look, read) })
    : { bytes: read, open: 0 };
  const shown = bytes.subarray(look.shown.from - look.from, look.shown.to - look.from);
  const behind = Math.max(0, look.from + read.length - look.shown.to);
  return { bytes: shown, open: Math.max(0, open - behind) };
};

const before = ({ from, kept }: Look): Beyond => (from === kept.from && from > 0 ? "gap" : "more");
const after = ({ from, to, kept }: Look, read: Buffer): Beyond => {
  if (from + read.length < to) return "nothing-yet";
  return to === kept.to ? "gap" : "more";
};

type Told = { detail: string | null; survivors: Survivor[] };

/** What is said in words may hold a value (arguments of what lives on, a word that a policy refuses): it is shown as output is. */
export const maskedWords = <T extends Told>(folder: ProcessFolder, told: T): T => {
  const mask = told.detail !== null || told.survivors.length > 0 ? readMask(folder) : undefined;
  if (mask === undefined) return told;
  const detail = told.detail === null ? null : maskedText(told.detail, mask);
  const shown = told.survivors.map(({ command, ...rest }) => ({
    ...rest,
    command: maskedText(command, mask),
  }));
  return { ...told, detail, survivors: shown };
};

const maskedText = (text: string, mask: Mask): string =>
  masked(Buffer.from(text), mask, { before: "more", after: "more" }).bytes.toString("utf8");
