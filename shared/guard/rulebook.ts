import type { CommandRule, Refusal } from "./verdict.ts";

/** By which rules a command is judged. */
export type Rulebook = {
  commandRules: readonly CommandRule[];
  /** Whether a rule that is judged where it stands in the text (fork bombs, redirections) is held. */
  holds(rule: string): boolean;
  /** What is said of each program by its name, wherever it stands in the command; undefined: nothing is. */
  program: ((name: string) => Refusal | undefined) | undefined;
  /** The refusal of a text that cannot be read whole; undefined: it is read by its words instead. */
  unreadable: Refusal | undefined;
};
