// Walks a parsed text and tells, one by one, what the rules look at. The tree is lazy: looking at a
// word or a substitution parses its text again, so a text nested n deep costs n times its length. Each
// look is paid for from the inquiry, and the walk ends when that is spent.
import {
  type Assignment,
  type Command,
  type CommandNode,
  forEachChild,
  type Function as ShellFunction,
  type Pipeline,
  type Redirection,
  type Script,
  type SyntaxNode,
  type Word,
} from "unbash";
import { marks, readWord } from "./words.ts";

/** One simple command: its words, and what it reads where that stands in the text. */
export type SimpleCommand = { argv: readonly string[]; stdin: string | undefined };

export type Sighting =
  | ({ type: "command" } & SimpleCommand)
  | { type: "target"; path: string }
  | { type: "function"; node: ShellFunction };

/** What may still be spent on one command, in characters looked at. */
export type Inquiry = { charsLeft: number; incomplete: boolean };

/** Pays for a look; false, for good, once there is nothing left. */
export function pay(inquiry: Inquiry, chars: number): boolean {
  inquiry.charsLeft -= chars + 1;
  if (inquiry.charsLeft < 0) inquiry.incomplete = true;
  return !inquiry.incomplete;
}

export function* sightings(script: Script, inquiry: Inquiry): Generator<Sighting> {
  const fed = new Map<CommandNode, string>();
  const open: SyntaxNode[] = [script];
  for (let node = open.pop(); node; node = open.pop()) {
    if (!pay(inquiry, "text" in node ? node.end - node.pos : 0)) return;
    if (node.type === "Pipeline") noteLiteralInput(node, fed);
    if (node.type === "Function") yield { type: "function", node };
    if (node.type === "Redirect" && node.target && node.operator !== "<" && node.operator !== "<&") {
      for (const path of readWord(node.target)) yield { type: "target", path };
    }
    if (node.type === "Command")
      yield { type: "command", argv: argvOf(node), stdin: stdinOf(node.redirects) ?? fed.get(node) };
    if (node.type === "Redirected") feedShells(node.command, stdinOf(node.redirects), fed);
    forEachChild(node, (child) => open.push(child));
  }
}

const argvOf = (node: Command): string[] => [
  ...(node.name ? readWord(node.name) : []),
  ...node.args.flatMap(readArgument),
];

function readArgument(argument: Word | Assignment): string[] {
  if (argument.type === "Word") return readWord(argument);
  const value = argument.value.type === "Word" ? readWord(argument.value) : [marks.unknown];
  return value.map((reading) => `${argument.name}=${reading}`);
}

function stdinOf(redirects: readonly Redirection[]): string | undefined {
  const input = redirects.findLast((redirect) => redirect.type !== "Redirect");
  if (input?.type === "HereDoc") return input.body.text;
  return input?.type === "HereString" && input.target ? readWord(input.target).join(" ") : undefined;
}

// `echo "reboot" | sh`: the words of an echo are the text that the next command reads.
function noteLiteralInput(pipeline: Pipeline, fed: Map<CommandNode, string>): void {
  for (const [index, reader] of pipeline.commands.entries()) {
    const writer = pipeline.commands[index - 1];
    if (writer?.type !== "Command" || !/^(?:echo|printf)$/.test(writer.name?.value ?? "")) continue;
    const words = argvOf(writer)
      .slice(1)
      .filter((word) => !/^-[neE]+$/.test(word));
    fed.set(reader, words.join(" ").replaceAll("\\n", "\n"));
  }
}

// `{ bash; } <<EOF`: a group hands its input to the commands in it.
function feedShells(group: SyntaxNode, stdin: string | undefined, fed: Map<CommandNode, string>): void {
  if (stdin === undefined || (group.type !== "BraceGroup" && group.type !== "Subshell")) return;
  for (const { command } of group.body.commands) {
    if (command.type === "Command") fed.set(command, stdin);
  }
}
