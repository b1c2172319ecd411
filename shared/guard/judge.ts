import { parse, type Script } from "unbash";
import { nestedTexts } from "./nested-texts.ts";
import { commandName } from "./options.ts";
import { forkBombRule, foundInFunction } from "./rules/fork-bomb.ts";
import { foundInSwitch, power } from "./rules/power.ts";
import { foundInTarget, rawWrite } from "./rules/raw-write.ts";
import { executedByFind } from "./rules/remove-by-find.ts";
import { commandRules } from "./rules.ts";
import { type Inquiry, pay, type SimpleCommand, type Sighting, sightings } from "./sightings.ts";
import { type Refusal, refused } from "./verdict.ts";
import { asShellText } from "./words.ts";
import { wrappedCommand } from "./wrappers.ts";

const maxDepth = 32;
const maxParsedChars = 128 * 1024;
const maxHeredocsALine = 16;
const maxNodesOfFunction = 2000;

/** Room for a text of this length with ordinary nesting: about a tenth of a second at most. */
export const newInquiry = (length: number): Inquiry => ({
  charsLeft: Math.max(64 * 1024, 8 * Math.min(length, maxParsedChars)),
  incomplete: false,
});

/** The first refusal in a shell text. An inquiry left `incomplete` means that not all of it could be looked at. */
export function judgeText(text: string, inquiry: Inquiry, depth = 0): Refusal | undefined {
  const script = depth > maxDepth || !pay(inquiry, text.length) ? undefined : parsed(text);
  if (!script) {
    inquiry.incomplete = true;
    return undefined;
  }
  for (const sighting of sightings(script, inquiry)) {
    const verdict = judgeSighting(sighting, inquiry, depth);
    if (verdict) return verdict;
  }
  return undefined;
}

/** The first refusal in one simple command, with the command that it runs and the texts that it holds. */
export function judgeCommand(command: SimpleCommand, inquiry: Inquiry, depth = 0): Refusal | undefined {
  const length = command.argv.reduce((sum, word) => sum + word.length + 1, 0);
  if (depth > maxDepth || !pay(inquiry, length)) {
    inquiry.incomplete = true;
    return undefined;
  }
  const name = commandName(command.argv);
  for (const { rule, names, found } of commandRules) {
    const what = names.test(name) ? found(command.argv) : undefined;
    if (what !== undefined) return refused(rule, what);
  }
  for (const inner of commandsInside(command)) {
    const verdict = judgeCommand(inner, inquiry, depth + 1);
    if (verdict) return verdict;
  }
  for (const text of nestedTexts(command.argv, command.stdin)) {
    const verdict = judgeText(asShellText(text), inquiry, depth + 1);
    if (verdict) return verdict;
  }
  return undefined;
}

function commandsInside({ argv, stdin }: SimpleCommand): SimpleCommand[] {
  const name = commandName(argv);
  if (name === "find") return executedByFind(argv).map((run) => ({ argv: run, stdin: undefined }));
  const wrapped = wrappedCommand(name, argv);
  if (!wrapped) return [];
  // xargs adds the words that it reads to the command.
  const read = name === "xargs" && stdin !== undefined ? stdin.trim().split(/\s+/) : [];
  return [{ argv: [...wrapped, ...read], stdin }];
}

function judgeSighting(sighting: Sighting, inquiry: Inquiry, depth: number): Refusal | undefined {
  if (sighting.type === "command") return judgeCommand(sighting, inquiry, depth);
  if (sighting.type === "function") {
    const bomb = foundInFunction(sighting.node, maxNodesOfFunction);
    return bomb === undefined ? undefined : refused(forkBombRule, bomb);
  }
  return judgeTarget(sighting.path);
}

/** The refusal of a redirection to this path. */
export function judgeTarget(path: string): Refusal | undefined {
  const written = foundInTarget(path);
  if (written !== undefined) return refused(rawWrite.rule, written);
  const switched = foundInSwitch(path);
  return switched === undefined ? undefined : refused(power.rule, switched);
}

// The parser recovers from nearly everything; what it reports or throws on is left to the scan.
// Heredocs announced on one line cost it a look through all the rest each.
function parsed(text: string): Script | undefined {
  if (text.length > maxParsedChars) return undefined;
  if (text.split("\n").some((line) => line.split("<<").length > maxHeredocsALine + 1)) return undefined;
  try {
    const script = parse(text);
    return script.errors?.length ? undefined : script;
  } catch {
    // It overflows the stack on a few hostile nestings, which are none of a person's commands.
    return undefined;
  }
}
