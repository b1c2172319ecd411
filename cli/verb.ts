import type { Command } from "commander";

/** One verb of the CLI, in a file of its own that is loaded only when it is called. */
export type Verb = {
  /** Adds arguments, options and help; loads nothing heavy. */
  define(command: Command): Command;
  /** Does it and answers the exit code; `command` holds the parsed words (`args`) and options (`opts()`). */
  run(command: Command): Promise<number>;
  /** Verbs of its own, such as `nodes drain`. */
  verbs?: Verbs;
};

/** Verbs by their names, in the order of the help. */
export type Verbs = Record<string, { summary: string; load: () => Promise<{ verb: Verb }> }>;

/** The call itself is wrong (a word, an option, a setting): one line on stderr and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What was asked for did not come about: one line on stderr and the code that says why. */
export class Failed extends Error {
  override readonly name = "Failed";
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}
