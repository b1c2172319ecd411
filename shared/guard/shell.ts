import type { Function as ShellFunction } from "unbash";
import { marks } from "./marks.ts";
import { plainPath } from "./paths.ts";

/**
 * What is known of a shell at one place of its text: as far as the text itself says it, nothing is looked up. `cwd` is
 * undefined and a variable is missing where only a run could tell.
 */
export type Shell = {
  cwd: string | undefined;
  values: Map<string, readonly string[]>;
  functions: Map<string, ShellFunction>;
};

const maxValues = 256;
const maxValueChars = 4096;

export const newShell = (known: { cwd?: string | undefined; env?: Record<string, string> } = {}): Shell => ({
  cwd: known.cwd,
  values: new Map(Object.entries(known.env ?? {}).map(([name, value]) => [name, [value]])),
  functions: new Map(),
});

/** A shell of its own: what it changes is not seen outside. */
export const copyOf = (shell: Shell): Shell => ({
  cwd: shell.cwd,
  values: new Map(shell.values),
  functions: new Map(shell.functions),
});

/** Notes what a variable holds: one of these. Too many or too long: it is not known. */
export function setValue(shell: Shell, name: string, values: readonly string[]): void {
  const fits = shell.values.size < maxValues && values.every((value) => value.length <= maxValueChars);
  if (fits) shell.values.set(name, values);
  else shell.values.delete(name);
}

/** The shell of a script or a function that gets these words. */
export function withArguments(shell: Shell, words: readonly string[]): Shell {
  const inner = copyOf(shell);
  for (const name of inner.values.keys()) if (/^\d+$/.test(name)) inner.values.delete(name);
  for (const [index, word] of words.slice(0, 9).entries()) setValue(inner, String(index + 1), [word]);
  const all = words.join(marks.gap);
  setValue(inner, "@", [all]);
  setValue(inner, "*", [all]);
  return inner;
}

/** A path seen from a working folder; it stays relative where that folder is not known. */
export function located(path: string, cwd: string | undefined): string {
  const isRelative = !path.startsWith("/") && !path.startsWith(marks.home) && !/^[A-Za-z]:/.test(path);
  return isRelative && cwd !== undefined && plainPath(cwd) !== undefined ? `${cwd}/${path}` : path;
}

/** Where `cd` with these words leads; undefined where only a run could tell. */
export function afterCd(shell: Shell, words: readonly string[]): string | undefined {
  const target = words.find((word) => !/^-[LPe@n]*$|^--$/.test(word) || word === "-");
  if (target === undefined) return shell.values.get("HOME")?.[0] ?? marks.home;
  const path = located(target, shell.cwd);
  return target !== "-" && plainPath(path) !== undefined ? plainPath(path) : undefined;
}
