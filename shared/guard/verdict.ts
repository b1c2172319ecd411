/**
 * Why a command is not run: the rule that caught it, one sentence for people that names what was found, and what a
 * program (a language model, say) is to do about it.
 */
export type Refusal = { rule: string; reason: string; advice: string };

/** One rule over one simple command: `names` says which commands it looks at, `found` what such a command would do wrong in this working folder. */
export type CommandRule = {
  rule: string;
  names: RegExp;
  found: (argv: readonly string[], cwd: string | undefined) => string | undefined;
};

/** What a program is told that would try again in other words. */
export const advice =
  "Do not rephrase the command and do not try another way to the same end: ask a person to decide, or to run it themselves.";

/** The refusal by a rule: one sentence that names what was found. */
export const refused = (rule: string, found: string): Refusal =>
  refusedBecause(rule, `The command would ${found}.`);

/** The refusal for a reason in whole sentences; a long one is cut. */
export const refusedBecause = (rule: string, reason: string): Refusal => ({
  rule,
  reason: reason.length <= maxReasonChars ? reason : `${reason.slice(0, maxReasonChars).toWellFormed()}…`,
  advice,
});

const maxReasonChars = 1000;

/** A refusal as one text, for whoever sees only one. */
export const refusalText = ({ rule, reason, advice: then }: Refusal): string =>
  `${reason} The policy refuses that (rule ${rule}). ${then}`;
