import { parse, type Script } from "unbash";
import { type Inquiry, maxParsedChars, pay } from "./inquiry.ts";
import { asShellText } from "./marks.ts";
import { type NestedText, nestedTexts } from "./nested-texts.ts";
import { commandName } from "./options.ts";
import { forkBombRule, foundInFunction } from "./rules/fork-bomb.ts";
import { foundInSwitch, power } from "./rules/power.ts";
import { foundInTarget, rawWrite } from "./rules/raw-write.ts";
import { executedByFind } from "./rules/remove-by-find.ts";
import { copyOf, located, setValue, type Shell, withArguments } from "./shell.ts";
import { type Refusal, refused } from "./verdict.ts";
import { type SimpleCommand, walk } from "./walk.ts";
import { type Wrapped, wrappedCommand } from "./wrappers.ts";

const maxDepth = 32;
const maxHeredocsALine = 16;
const maxNodesOfFunction = 2000;

/** A shell text, the shell that runs it and what that shell reads, where it is known. */
export type ShellText = { text: string; shell: Shell; stdin?: string | undefined };

/** The first refusal in a shell text. An inquiry left `incomplete` means that not all of it could be looked at. */
export function judgeText(
  { text, shell, stdin }: ShellText,
  inquiry: Inquiry,
  depth = 0,
): Refusal | undefined {
  const script = depth > maxDepth || !pay(inquiry, text.length) ? undefined : parsed(text);
  if (!script) {
    inquiry.incomplete = true;
    return undefined;
  }
  const look = {
    command: (command: SimpleCommand) => judgeCommand(command, inquiry, depth),
    target: (path: string) => judgeTarget(path, inquiry),
    function: (node: Parameters<typeof foundInFunction>[0]) => {
      const bomb = inquiry.book.holds(forkBombRule) ? foundInFunction(node, maxNodesOfFunction) : undefined;
      return bomb === undefined ? undefined : refused(forkBombRule, bomb);
    },
  };
  return walk(script, { look, inquiry }, { shell, stdin });
}

/** The first refusal in one simple command, with the command that it runs and the texts that it holds. */
export function judgeCommand(command: SimpleCommand, inquiry: Inquiry, depth = 0): Refusal | undefined {
  const { argv, stdin, shell } = command;
  const length = argv.reduce((sum, word) => sum + word.length + 1, 0);
  if (depth > maxDepth || !pay(inquiry, length)) {
    inquiry.incomplete = true;
    return undefined;
  }
  const verdict = judgeWords(command, inquiry);
  if (verdict) return verdict;
  for (const inner of commandsInside(command)) {
    const inside = judgeCommand(inner, inquiry, depth + 1);
    if (inside) return inside;
  }
  for (const nested of nestedTexts(argv, stdin)) {
    const inside = judgeText(
      { text: asShellText(nested.text), shell: shellOf(nested, shell), stdin },
      inquiry,
      depth + 1,
    );
    if (inside) return inside;
  }
  return undefined;
}

function judgeWords({ argv, shell }: SimpleCommand, { book }: Inquiry): Refusal | undefined {
  const name = commandName(argv);
  for (const { rule, names, found } of book.commandRules) {
    const what = names.test(name) ? found(argv, shell.cwd) : undefined;
    if (what !== undefined) return refused(rule, what);
  }
  const isFunction = shell.functions.has(name);
  return name === "" || isFunction ? undefined : book.program?.(name);
}

function shellOf({ words, zero, cwd }: NestedText, shell: Shell): Shell {
  const inner = words === undefined ? copyOf(shell) : withArguments(shell, words);
  if (zero !== undefined) setValue(inner, "0", [zero]);
  if (cwd !== undefined) inner.cwd = cwd;
  return inner;
}

function commandsInside({ argv, stdin, shell }: SimpleCommand): SimpleCommand[] {
  const name = commandName(argv);
  if (name === "find") return executedByFind(argv).map((run) => ({ argv: run, stdin: undefined, shell }));
  const wrapped = wrappedCommand(name, argv);
  if (!wrapped) return [];
  const words = name === "xargs" ? withRead(argv, wrapped.argv, stdin) : wrapped.argv;
  return [
    { argv: name === "parallel" ? withListed(words) : words, stdin, shell: wrappedShell(wrapped, shell) },
  ];
}

// xargs adds the words that it reads to the command, or puts them where the command says `{}`.
function withRead(argv: readonly string[], words: readonly string[], stdin: string | undefined): string[] {
  const read = stdin === undefined ? [] : stdin.split(/[\s\0]+/).filter((word) => word !== "");
  const at = argv.findIndex((word) => /^-I|^--replace/.test(word));
  if (at < 0) return [...words, ...read];
  const sign = argv[at] === "-I" ? (argv[at + 1] ?? "{}") : argv[at]?.replace(/^-I|^--replace=?/, "") || "{}";
  return words.flatMap((word) =>
    word.includes(sign) && read.length > 0
      ? read.slice(0, 64).map((one) => word.replaceAll(sign, one))
      : [word],
  );
}

const withListed = (words: readonly string[]): string[] => words.filter((word) => word !== ":::");

function wrappedShell({ sets, cwd }: Wrapped, shell: Shell): Shell {
  if (sets.length === 0 && cwd === undefined) return shell;
  const inner = copyOf(shell);
  for (const set of sets) setValue(inner, set.slice(0, set.indexOf("=")), [set.slice(set.indexOf("=") + 1)]);
  if (cwd !== undefined) inner.cwd = located(cwd, shell.cwd);
  return inner;
}

/** The refusal of a redirection to this path. */
export function judgeTarget(path: string, { book }: Pick<Inquiry, "book">): Refusal | undefined {
  const written = book.holds(rawWrite.rule) ? foundInTarget(path) : undefined;
  if (written !== undefined) return refused(rawWrite.rule, written);
  const switched = book.holds(power.rule) ? foundInSwitch(path) : undefined;
  return switched === undefined ? undefined : refused(power.rule, switched);
}

// The parser recovers from nearly everything; what it reports or throws on is left to the scan.
// Heredocs announced on one line cost it a look through all the rest each.
function parsed(text: string): Script | undefined {
  if (text.length > maxParsedChars) return undefined;
  if (text.includes("<<") && text.split("\n").some((line) => line.split("<<").length > maxHeredocsALine + 1))
    return undefined;
  try {
    const script = parse(text);
    return script.errors?.length ? undefined : script;
  } catch {
    // It overflows the stack on a few hostile nestings, which are none of a person's commands.
    return undefined;
  }
}
