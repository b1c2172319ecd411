import { commandName } from "./options.ts";

const shells = /^(?:(?:ba|da|a|z|k|mk|ya|fi)?sh|rbash)$/;
const runsByC = /^(?:su|runuser|script|flock)$/;
const shellValued = new Set(["-o", "+o", "-O", "+O", "--rcfile", "--init-file"]);

/** The shell texts inside one simple command (`sh -c`, `eval`, `su -c`, `trap`), `stdin` being what it reads where that is known. */
export function nestedTexts(argv: readonly string[], stdin: string | undefined): string[] {
  const name = commandName(argv);
  if (shells.test(name)) return shellTexts(argv, stdin);
  if (name === "eval") return [argv.slice(1).join(" ")];
  if (name === "watch")
    return [
      argv
        .slice(1)
        .filter((word) => !word.startsWith("-"))
        .join(" "),
    ];
  if (name === "trap")
    return argv
      .slice(1)
      .filter((word) => !word.startsWith("-"))
      .slice(0, 1);
  if (name === "env") return afterEach(argv, /^-S$|^--split-string$/, /^-S|^--split-string=/);
  if ((name === "source" || name === ".") && argv[1] === "/dev/stdin")
    return stdin === undefined ? [] : [stdin];
  if (runsByC.test(name)) return afterEach(argv, /^-[a-z]*c$|^--command$/, /^--command=/);
  return [];
}

function shellTexts(argv: readonly string[], stdin: string | undefined): string[] {
  let given = false;
  let at = 1;
  for (let word = argv[at]; word !== undefined && /^[-+]./.test(word); word = argv[at]) {
    at += shellValued.has(word) ? 2 : 1;
    if (word === "--") break;
    // fish also takes --command; zsh and bash take the letter anywhere in a cluster.
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(word) || word === "--command") given = true;
  }
  const first = argv[at];
  if (given) return first === undefined ? [] : [first];
  const readsStdin =
    first === undefined || first === "-" || first === "/dev/stdin" || argv.slice(1, at).includes("-s");
  return readsStdin && stdin !== undefined ? [stdin] : [];
}

function afterEach(argv: readonly string[], alone: RegExp, attached: RegExp): string[] {
  return argv.flatMap((word, index) => {
    if (alone.test(word)) return argv.slice(index + 1, index + 2);
    return attached.test(word) ? [word.replace(attached, "")] : [];
  });
}
