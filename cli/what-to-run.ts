import { UsageError } from "./verb.ts";

export type WhatToRun = { command: string } | { argv: string[] };

// A lone word with any of these is meant for a shell: `drover exec -- 'ls | wc -l'`.
const forShell = /[\s|&;<>()$`"'*?[\]{}~#!\\]/;

/**
 * Several words are a program and its arguments and run without a shell; `-c TEXT` is text for a shell.
 * A single word is text as well if only a shell could make sense of it.
 */
export function whatToRun(words: string[], text: string | undefined): WhatToRun {
  if (text !== undefined && words.length > 0)
    throw new UsageError("give either -c TEXT or words after --, not both");
  if (text !== undefined) return { command: text };
  const [first] = words;
  if (first === undefined) throw new UsageError("nothing to run: write it after --, or give -c TEXT");
  return words.length === 1 && forShell.test(first) ? { command: first } : { argv: words };
}
