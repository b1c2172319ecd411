import type { Policy } from "../api/policy.ts";
import { globMatches } from "../glob.ts";
import { marks, shown } from "./marks.ts";
import type { Rulebook } from "./rulebook.ts";
import { commandRules } from "./rules.ts";
import { type Refusal, refusedBecause } from "./verdict.ts";

// What the shell does by itself, or hands on to a command that is judged then.
const builtins = new Set(
  ": true false echo printf test [ cd chdir pwd pushd popd export unset set shift read return exit break continue wait local readonly declare typeset umask getopts type hash ulimit trap alias unalias let times jobs bg fg eval exec command builtin time".split(
    " ",
  ),
);

/** The rules by which a policy judges commands. */
export const bookOf = (policy: Policy): Rulebook => {
  const off: ReadonlySet<string> = new Set(policy.allowRules);
  return {
    commandRules: off.size === 0 ? commandRules : commandRules.filter(({ rule }) => !off.has(rule)),
    holds: (rule) => !off.has(rule),
    program: programVerdict(policy),
    unreadable: policy.allowPrograms === undefined ? undefined : unreadable,
  };
};

const unreadable: Refusal = refusedBecause(
  "unreadable",
  "The command cannot be read whole as shell text, and the policy allows only some programs.",
);

/** What a policy says of a program by its name; undefined where it says nothing of any. */
export function programVerdict(policy: Policy): ((name: string) => Refusal | undefined) | undefined {
  const { refusePrograms, allowPrograms } = policy;
  if (refusePrograms.length === 0 && allowPrograms === undefined) return undefined;
  return (name) => {
    if (refusePrograms.some((glob) => globMatches(glob, name)))
      return refusedBecause("program", `The command runs ${shown(name)}, which the policy refuses.`);
    if (allowPrograms === undefined || builtins.has(name)) return undefined;
    if (!isPlain(name))
      return refusedBecause(
        "program",
        `Which program ${shown(name)} is only a run could tell, and the policy allows only some.`,
      );
    return allowPrograms.some((glob) => globMatches(glob, name))
      ? undefined
      : refusedBecause(
          "program",
          `The command runs ${shown(name)}, which is not among the programs that the policy allows.`,
        );
  };
}

const isPlain = (name: string): boolean => !Object.values(marks).some((mark) => name.includes(mark));
