import type { Assignment } from "unbash";
import { marks } from "./marks.ts";
import { afterCd, setValue, type Shell, withArguments } from "./shell.ts";
import { readWord } from "./words.ts";

/** Notes what an assignment puts into a variable. */
export function assigned(shell: Shell, { name, value, append, index }: Assignment): void {
  if (append || index || value.type !== "Word") setValue(shell, name, [marks.unknown]);
  else setValue(shell, name, readWord(value, shell));
}

const through = new Set(["command", "builtin"]);

/** Notes what a command that the shell runs itself changes in it. */
export function applied(shell: Shell, argv: readonly string[]): void {
  const [name = "", ...words] = argv;
  if (through.has(name)) return applied(shell, words);
  if (name === "cd" || name === "pushd" || name === "chdir") shell.cwd = afterCd(shell, words);
  else if (name === "popd") shell.cwd = undefined;
  else if (/^(?:export|declare|local|readonly|typeset)$/.test(name)) declared(shell, words);
  else if (/^(?:unset|read|mapfile|readarray|getopts)$/.test(name)) forget(shell, words);
  else if (name === "set") setWords(shell, words);
  else if (/^(?:shift|source|\.|eval)$/.test(name)) forgetWords(shell);
}

function declared(shell: Shell, words: readonly string[]): void {
  for (const word of words) {
    const at = word.indexOf("=");
    if (at > 0) setValue(shell, word.slice(0, at), [word.slice(at + 1)]);
  }
}

// What is read or counted is known only to a run.
const forget = (shell: Shell, words: readonly string[]): void => {
  for (const word of words) setValue(shell, word, [marks.unknown]);
};

function setWords(shell: Shell, words: readonly string[]): void {
  const at = words.indexOf("--");
  const given = at >= 0 ? words.slice(at + 1) : words.filter((word) => !/^[-+]/.test(word));
  if (given.length > 0) shell.values = withArguments(shell, given).values;
}

function forgetWords(shell: Shell): void {
  for (const name of shell.values.keys()) if (/^[\d@*]+$/.test(name)) shell.values.delete(name);
}
