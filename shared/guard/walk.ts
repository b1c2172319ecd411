// Walks a parsed text in the order in which a shell would run it and tells, one by one, what the rules look at, with
// what is known of the shell there: `cd / && rm -rf *` is the removal of `/`. Branches are all taken, one after the other.
//
// The tree is lazy: looking at a word or a substitution parses its text again, so a text nested n deep costs n times its
// length. Each look is paid for from the inquiry, and the walk ends when that is spent.
import {
  type Command,
  type For,
  forEachChild,
  type Function as ShellFunction,
  type Pipeline,
  type Redirection,
  type Script,
  type Select,
  type SyntaxNode,
} from "unbash";
import { type Inquiry, pay } from "./inquiry.ts";
import { marks } from "./marks.ts";
import { printedBy } from "./printed.ts";
import { applied, assigned } from "./shell-builtins.ts";
import { copyOf, located, setValue, type Shell, withArguments } from "./shell.ts";
import type { Refusal } from "./verdict.ts";
import { argvOf, inputOf, readWord } from "./words.ts";

/** One simple command: its words, what it reads where that stands in the text, and the shell that runs it. */
export type SimpleCommand = { argv: readonly string[]; stdin: string | undefined; shell: Shell };

/** What is asked about each thing that a text does; the first refusal ends the walk. */
export type Look = {
  command(command: SimpleCommand): Refusal | undefined;
  target(path: string): Refusal | undefined;
  function(node: ShellFunction): Refusal | undefined;
};

const maxDepth = 150;

type Walk = { look: Look; inquiry: Inquiry };
type Place = { shell: Shell; stdin: string | undefined; depth: number };

/** The first refusal in a text that this shell runs. */
export const walk = (script: Script, around: Walk, start: Omit<Place, "depth">): Refusal | undefined =>
  step(script, around, { ...start, depth: 0 });

const alone = (place: Place, stdin = place.stdin): Place => ({
  shell: copyOf(place.shell),
  stdin,
  depth: place.depth,
});

function step(node: SyntaxNode, walking: Walk, at: Place): Refusal | undefined {
  const place = { ...at, depth: at.depth + 1 };
  if (place.depth > maxDepth) walking.inquiry.incomplete = true;
  if (!pay(walking.inquiry, "text" in node ? node.end - node.pos : 0)) return undefined;
  switch (node.type) {
    case "Command":
      return stepCommand(node, walking, place);
    case "Pipeline":
      return stepPipeline(node, walking, place);
    case "Function":
      return stepFunction(node, walking, place);
    case "Redirected":
      return (
        stepRedirects(node.redirects, walking, place) ??
        step(node.command, walking, { ...place, stdin: inputOf(node.redirects, place.shell) ?? place.stdin })
      );
    case "For":
    case "Select":
      return stepLoop(node, walking, place);
    case "Statement":
      return step(node.command, walking, node.background ? alone(place) : place);
    case "Subshell":
    case "Coproc":
      return stepChildren(node, walking, alone(place));
    case "CommandExpansion":
    case "ProcessSubstitution":
    case "ArithmeticCommandExpansion":
      return stepChildren(node, walking, alone(place, undefined));
    default:
      return stepChildren(node, walking, place);
  }
}

function stepChildren(node: SyntaxNode, walking: Walk, place: Place): Refusal | undefined {
  let verdict: Refusal | undefined;
  forEachChild(node, (child) => {
    verdict ??= step(child, walking, place);
  });
  return verdict;
}

function stepCommand(node: Command, walking: Walk, place: Place): Refusal | undefined {
  const inside = stepChildren(node, walking, place) ?? targets(node.redirects, walking, place);
  if (inside) return inside;
  const { shell } = place;
  const given = node.prefix.filter((part) => part.type === "Assignment");
  if (!node.name) {
    for (const assignment of given) assigned(shell, assignment);
    return undefined;
  }
  const own = given.length > 0 ? copyOf(shell) : shell;
  for (const assignment of given) assigned(own, assignment);
  const argv = argvOf(node, shell);
  const stdin = inputOf(node.redirects, shell) ?? place.stdin;
  const verdict = walking.look.command({ argv, stdin, shell: own }) ?? stepCall(argv, walking, place);
  applied(shell, argv);
  return verdict;
}

// A call of a function that the text defines runs its text with these words. What it changes stays changed, but for its words.
function stepCall(argv: readonly string[], walking: Walk, place: Place): Refusal | undefined {
  const called = place.shell.functions.get(argv[0] ?? "");
  if (!called) return undefined;
  const inner = withArguments(place.shell, argv.slice(1));
  // It is not called again from within itself.
  inner.functions.delete(argv[0] ?? "");
  const verdict = step(called.body, walking, { ...place, shell: inner });
  place.shell.cwd = inner.cwd;
  return verdict;
}

function stepFunction(node: ShellFunction, walking: Walk, place: Place): Refusal | undefined {
  if (place.shell.functions.size < 64) place.shell.functions.set(node.name.value, node);
  const inner = alone({ ...place, shell: withArguments(place.shell, []) });
  inner.shell.values.delete("@");
  inner.shell.values.delete("*");
  return walking.look.function(node) ?? step(node.body, walking, inner);
}

// Each part of a pipe is a shell of its own and reads what the one before it writes.
function stepPipeline(node: Pipeline, walking: Walk, place: Place): Refusal | undefined {
  const [only] = node.commands;
  if (node.commands.length === 1 && only) return step(only, walking, place);
  let stdin = place.stdin;
  for (const command of node.commands) {
    const part = alone(place, stdin);
    const verdict = step(command, walking, part);
    if (verdict) return verdict;
    stdin =
      command.type === "Command"
        ? printedBy(argvOf(command, part.shell), {
            shell: part.shell,
            stdin: inputOf(command.redirects, part.shell) ?? stdin,
          })
        : undefined;
  }
  return undefined;
}

function stepLoop(node: For | Select, walking: Walk, place: Place): Refusal | undefined {
  const words = (node.wordlist ?? []).slice(0, 64);
  for (const word of words) {
    const verdict = step(word, walking, place);
    if (verdict) return verdict;
  }
  setValue(place.shell, node.name.value, valuesOf(words.flatMap((word) => readWord(word, place.shell))));
  return step(node.body, walking, place);
}

// A glob in the list of a loop becomes names: as text it would be matched again only without quotes.
const valuesOf = (words: readonly string[]): readonly string[] =>
  words.length === 0 ? [marks.unknown] : words.slice(0, 64);

function stepRedirects(redirects: readonly Redirection[], walking: Walk, place: Place): Refusal | undefined {
  for (const redirect of redirects) {
    const verdict = stepChildren(redirect, walking, place);
    if (verdict) return verdict;
  }
  return targets(redirects, walking, place);
}

function targets(redirects: readonly Redirection[], walking: Walk, { shell }: Place): Refusal | undefined {
  for (const redirect of redirects) {
    if (redirect.type !== "Redirect" || !redirect.target) continue;
    if (redirect.operator === "<" || redirect.operator === "<&") continue;
    for (const path of readWord(redirect.target, shell)) {
      const verdict = walking.look.target(located(path, shell.cwd));
      if (verdict) return verdict;
    }
  }
  return undefined;
}
