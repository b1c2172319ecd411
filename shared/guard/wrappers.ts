// Commands that run another one given in their words. `valued` lists the short options that take the
// next word as their value, `long` the long ones; `operands` is how many words stand before the command; `chdir` is
// the option that names another working folder.
type Wrapper = {
  chdir?: RegExp;
  valued?: string;
  long?: readonly string[];
  operands?: number;
  assignments?: true;
  asks?: string;
};

const sudoLong = [
  "user",
  "group",
  "prompt",
  "close-from",
  "role",
  "type",
  "chdir",
  "host",
  "chroot",
  "other-user",
  "command-timeout",
];

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["sudo", { valued: "ugpCrtThDRU", long: sudoLong, assignments: true, chdir: /^-[a-zA-Z]*D|^--chdir/ }],
  ["doas", { valued: "uC" }],
  [
    "env",
    {
      valued: "uCS",
      long: ["unset", "chdir", "split-string"],
      assignments: true,
      chdir: /^-[a-zA-Z]*C|^--chdir/,
    },
  ],
  ["nohup", {}],
  ["setsid", {}],
  ["nice", { valued: "n", long: ["adjustment"] }],
  ["ionice", { valued: "cnpPu", long: ["class", "classdata"] }],
  ["chrt", { valued: "TPD", operands: 1 }],
  ["taskset", { operands: 1 }],
  ["timeout", { valued: "ks", long: ["kill-after", "signal"], operands: 1 }],
  ["stdbuf", { valued: "ioe", long: ["input", "output", "error"] }],
  [
    "xargs",
    {
      valued: "IndPLsEa",
      long: ["max-args", "max-procs", "delimiter", "replace", "arg-file", "max-lines", "max-chars"],
    },
  ],
  ["command", { asks: "vV" }],
  ["exec", { valued: "a" }],
  ["builtin", {}],
  ["time", { valued: "fo", long: ["format", "output"] }],
  ["busybox", {}],
  ["toybox", {}],
  ["chroot", { operands: 1 }],
  ["gosu", { operands: 1 }],
  ["su-exec", { operands: 1 }],
  ["flock", { valued: "wE", long: ["timeout", "conflict-exit-code"], operands: 1 }],
  ["runuser", { valued: "ugG", long: ["user", "group", "supp-group"] }],
  ["nsenter", { valued: "t", long: ["target"] }],
  ["setpriv", {}],
  ["pkexec", { long: ["user"] }],
  ["setarch", { operands: 1 }],
  ["linux32", {}],
  ["linux64", {}],
  ["dbus-run-session", {}],
  ["xvfb-run", { valued: "nfews" }],
  ["firejail", {}],
  ["npx", { valued: "p", long: ["package"] }],
  ["parallel", { valued: "jIN", long: ["jobs"] }],
  ["ltrace", { valued: "aeopsu" }],
  ["strace", { valued: "aeopsuESIOPX" }],
  ["unshare", {}],
  [
    "systemd-run",
    {
      valued: "pEMHut",
      long: ["property", "setenv", "machine", "host", "unit", "description", "uid", "gid", "slice"],
    },
  ],
  ["systemd-inhibit", {}],
  ["watch", { valued: "nq", long: ["interval"] }],
  ["unbuffer", {}],
  ["caffeinate", { valued: "tw" }],
]);

const assignment = /^[A-Za-z_]\w*=/;

/** The command that a wrapper runs: its words, the variables it gets and the working folder, where the wrapper names them. */
export type Wrapped = { argv: string[]; sets: string[]; cwd: string | undefined };

/** The command that a wrapper runs; undefined when this is no wrapper or it runs nothing. */
export function wrappedCommand(name: string, argv: readonly string[]): Wrapped | undefined {
  const wrapper = wrappers.get(name);
  if (!wrapper) return undefined;
  const sets: string[] = [];
  let cwd: string | undefined;
  let at = 1;
  for (let next = argv[at]; next !== undefined && isOption(wrapper, next); next = argv[at]) {
    if (asks(wrapper, next)) return undefined;
    const isValued = takesValue(wrapper, next);
    if (assignment.test(next)) sets.push(next);
    if (wrapper.chdir?.test(next))
      cwd = isValued ? argv[at + 1] : next.replace(/^--chdir=|^-[a-zA-Z]*[CD]/, "");
    at += isValued ? 2 : 1;
    if (next === "--") break;
  }
  for (; wrapper.assignments && assignment.test(argv[at] ?? ""); at++) sets.push(argv[at] ?? "");
  const rest = argv.slice(at + (wrapper.operands ?? 0));
  return rest.length > 0 ? { argv: rest, sets, cwd } : undefined;
}

const isOption = (wrapper: Wrapper, word: string): boolean =>
  word.startsWith("-") || (wrapper.assignments === true && assignment.test(word));

const asks = (wrapper: Wrapper, word: string): boolean =>
  !word.startsWith("--") &&
  [...(wrapper.asks ?? "")].some((letter) => word.startsWith("-") && word.includes(letter));

function takesValue(wrapper: Wrapper, word: string): boolean {
  if (!word.startsWith("-") || word === "-") return false;
  if (word.startsWith("--")) return wrapper.long?.includes(word.slice(2)) ?? false;
  // In a cluster the first letter that takes a value takes the rest of the word, or the next word if nothing is left.
  const taker = [...word].findIndex((letter) => wrapper.valued?.includes(letter));
  return taker === word.length - 1;
}
