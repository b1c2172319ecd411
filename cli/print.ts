import { isatty } from "node:tty";
import type { Command } from "commander";
import { shape, type Shape } from "./options.ts";
import { say, stdoutFd } from "./write.ts";

export type Column<T> = { title: string; cell(row: T): string; paint?(row: T): Paint | undefined };
export type Paint = "green" | "yellow" | "red" | "grey";

const codes: Record<Paint, number> = { green: 32, yellow: 33, red: 31, grey: 90 };

/** The option `-o table|json`. */
export const withShape = (command: Command): Command =>
  command.option("-o, --output <shape>", "table or json", shape, "table" as Shape);

export const wantsJson = (command: Command): boolean => command.opts<{ output: Shape }>().output === "json";

/** Prints a result for programs. */
export const printJson = async (value: unknown): Promise<void> =>
  void (await say(JSON.stringify(value, null, 2)));

/** Prints rows as aligned columns; the last column is cut to the width of the terminal. */
export async function printTable<T>(columns: Column<T>[], rows: T[]): Promise<void> {
  const isTerminal = isatty(stdoutFd);
  const style = {
    colours: isTerminal && !process.env["NO_COLOR"],
    width: isTerminal ? process.stdout.columns : Infinity,
  };
  await say(layOut(columns, rows, style).join("\n"));
}

type Style = { colours: boolean; width: number };

/** The lines of a table, its head first. */
export function layOut<T>(columns: Column<T>[], rows: T[], style: Style): string[] {
  const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const heads = columns.map((column) => column.title);
  const widths = heads.map((head, index) =>
    Math.max(head.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const line = (texts: string[], row?: T): string => {
    const padded = texts.map((text, index) =>
      index === texts.length - 1 ? text : text.padEnd(widths[index] ?? 0),
    );
    const room = style.width - padded.slice(0, -1).reduce((sum, text) => sum + text.length + 2, 0);
    const cut = padded.map((text, index) =>
      index === padded.length - 1 ? shorten(text, Math.max(room, 8)) : text,
    );
    const painted =
      row === undefined ? cut : cut.map((text, index) => paint(text, columns[index]?.paint?.(row), style));
    return painted.join("  ").trimEnd();
  };
  return [line(heads), ...rows.map((row, index) => line(cells[index] ?? [], row))];
}

const paint = (text: string, colour: Paint | undefined, style: Style): string =>
  colour === undefined || !style.colours ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`;

const shorten = (text: string, room: number): string =>
  text.length <= room ? text : `${text.slice(0, room - 1)}…`;

/** One line that cannot steer a terminal: control characters show as spaces. */
// oxlint-disable-next-line no-control-regex
export const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();

const second = 1000;
const steps: [ms: number, unit: string][] = [
  [86_400 * second, "d"],
  [3600 * second, "h"],
  [60 * second, "m"],
  [second, "s"],
];

/** A length of time in its largest whole unit: `45s`, `12m`, `3h`, `9d`. */
export function short(ms: number): string {
  const [size, unit] = steps.find(([step]) => ms >= step) ?? [second, "s"];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}

/** How long ago something was; `-` when it never was. */
export const age = (at: string | null, now: number): string =>
  at === null ? "-" : short(now - Date.parse(at));

/** A size in its largest binary unit: `812B`, `1.5K`, `40M`. */
export function size(bytes: number): string {
  const units = ["B", "K", "M", "G", "T"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)}${units[power]}`;
}
