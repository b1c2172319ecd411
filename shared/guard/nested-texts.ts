import { commandName } from "./options.ts";
import { marks } from "./marks.ts";

/** A shell text inside a simple command, with the words that it gets as $1, $2 … (`zero`: as $0), and the folder it runs in where that is another. */
export type NestedText = {
  text: string;
  words?: readonly string[];
  zero?: string | undefined;
  cwd?: string;
};

const shells = /^(?:(?:ba|da|a|z|k|mk|ya|fi)?sh|rbash)$/;
const runsByC = /^(?:su|sg|runuser|script|flock)$/;
const sourced = /^(?:source|\.)$/;
const shellValued = new Set(["-o", "+o", "-O", "+O", "--rcfile", "--init-file"]);
const sshValued = /^-[a-zA-Z0-9]*[BbcDEeFIiJLlmOoPpQRSWw]$/;

/** The shell texts inside one simple command (`sh -c`, `eval`, `su -c`, `trap`), `stdin` being what it reads where that is known. */
export function nestedTexts(argv: readonly string[], stdin: string | undefined): NestedText[] {
  const name = commandName(argv);
  const words = argv.slice(1);
  if (shells.test(name)) return shellTexts(argv, stdin);
  if (sourced.test(name)) return words[0] === "/dev/stdin" ? plain(stdin) : [];
  if (runsByC.test(name)) return plain(...afterEach(argv, /^-[a-z]*c$|^--command$/, /^--command=/));
  switch (name) {
    case "eval":
      return plain(words.join(" "));
    case "watch":
      return plain(words.filter((word) => !word.startsWith("-")).join(" "));
    case "trap":
      return plain(words.find((word) => !word.startsWith("-")));
    case "alias":
      return plain(
        ...words.filter((word) => word.includes("=")).map((word) => word.slice(word.indexOf("=") + 1)),
      );
    case "env":
      return plain(...afterEach(argv, /^-S$|^--split-string$/, /^-S|^--split-string=/));
    case "at":
    case "batch":
      return plain(stdin);
    case "ssh":
      return remoteText(words);
    default:
      return [];
  }
}

const plain = (...texts: readonly (string | undefined)[]): NestedText[] =>
  texts.filter((text) => text !== undefined).map((text) => ({ text }));

function shellTexts(argv: readonly string[], stdin: string | undefined): NestedText[] {
  let given = false;
  let at = 1;
  for (let word = argv[at]; word !== undefined && /^[-+]./.test(word); word = argv[at]) {
    // In a cluster, `o` takes the next word as its value (`-euo pipefail`).
    at += shellValued.has(word) || /^[-+][A-Za-z]*[oO]$/.test(word) ? 2 : 1;
    if (word === "--") break;
    // fish also takes --command; zsh and bash take the letter anywhere in a cluster.
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(word) || word === "--command") given = true;
  }
  const [first, ...words] = argv.slice(at);
  if (given) return first === undefined ? [] : [{ text: first, words: words.slice(1), zero: words[0] }];
  const readsStdin =
    first === undefined || first === "-" || first === "/dev/stdin" || argv.slice(1, at).includes("-s");
  return readsStdin && stdin !== undefined
    ? [{ text: stdin, words: first === "-" ? words : argv.slice(at) }]
    : [];
}

// What runs on another machine runs in the home folder there.
function remoteText(words: readonly string[]): NestedText[] {
  let at = 0;
  for (let word = words[at]; word?.startsWith("-"); word = words[at]) at += sshValued.test(word) ? 2 : 1;
  const text = words.slice(at + 1).join(" ");
  return text === "" ? [] : [{ text, cwd: marks.home }];
}

function afterEach(argv: readonly string[], alone: RegExp, attached: RegExp): string[] {
  return argv.flatMap((word, index) => {
    if (alone.test(word)) return argv.slice(index + 1, index + 2);
    return attached.test(word) ? [word.replace(attached, "")] : [];
  });
}
