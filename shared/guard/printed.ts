import { isUnpickedSearch } from "./rules/remove-by-find.ts";
import { commandName } from "./options.ts";
import type { Shell } from "./shell.ts";

/** What a command writes to its output, where its words say so; undefined where only a run could tell. */
export function printedBy(
  argv: readonly string[],
  { shell, stdin }: { shell: Shell; stdin: string | undefined },
): string | undefined {
  const words = argv.slice(1);
  switch (commandName(argv)) {
    case "echo":
      return `${unescaped(words.filter((word) => !/^-[neE]+$/.test(word)).join(" "))}\n`;
    case "printf":
      return formatted(words[0] === "--" ? words.slice(1) : words);
    case "cat":
    case "tee":
      return words.every((word) => word === "-") || commandName(argv) === "tee" ? stdin : undefined;
    case "pwd":
      return shell.cwd;
    // The folder itself is the first that it names.
    case "find":
      return isUnpickedSearch(argv) ? words.filter((word) => /^[^-(!]/.test(word)).join("\n") : undefined;
    default:
      return undefined;
  }
}

const unescaped = (text: string): string =>
  text.replace(/\\([0nt\\])/g, (_, sign: string) => ({ "0": "\0", n: "\n", t: "\t" })[sign] ?? sign);

function formatted([format = "", ...values]: readonly string[]): string {
  let next = 0;
  const once = (): string =>
    format.replace(/%(?:[-\d.]*([sbqdi])|%)/g, (sign) => (sign === "%%" ? "%" : (values[next++] ?? "")));
  const rounds = [once()];
  while (next > 0 && next < values.length && rounds.length < 64) rounds.push(once());
  return unescaped(rounds.join(""));
}
