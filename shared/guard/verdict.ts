/** Why a command is not run: the rule that caught it and one sentence that says what was found. */
export type Refusal = { rule: string; reason: string };

/** One rule over one simple command: `names` says which commands it looks at, `found` what such a command would do wrong. */
export type CommandRule = {
  rule: string;
  names: RegExp;
  found: (argv: readonly string[]) => string | undefined;
};

/** The refusal by a rule: one sentence that names what was found. */
export const refused = (rule: string, found: string): Refusal => ({
  rule,
  reason: `The command would ${found}, which this policy refuses however it is spelled, so rephrasing it will not help.`,
});
