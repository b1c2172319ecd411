// Commands that run another one given in their words. `valued` lists the short options that take the
// next word as their value, `long` the long ones; `operands` is how many words stand before the command.
type Wrapper = {
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
  ["sudo", { valued: "ugpCrtThDRU", long: sudoLong, assignments: true }],
  ["doas", { valued: "uC" }],
  ["env", { valued: "uC", long: ["unset", "chdir"], assignments: true }],
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

/** The words of the command that a wrapper runs; undefined when this is no wrapper or it runs nothing. */
export function wrappedCommand(name: string, argv: readonly string[]): string[] | undefined {
  const wrapper = wrappers.get(name);
  if (!wrapper) return undefined;
  let at = 1;
  for (let next = argv[at]; next !== undefined && isOption(wrapper, next); next = argv[at]) {
    if (asks(wrapper, next)) return undefined;
    at += takesValue(wrapper, next) ? 2 : 1;
    if (next === "--") break;
  }
  while (wrapper.assignments && assignment.test(argv[at] ?? "")) at++;
  const rest = argv.slice(at + (wrapper.operands ?? 0));
  return rest.length > 0 ? rest : undefined;
}

const isOption = (wrapper: Wrapper, word: string): boolean =>
  (word.startsWith("-") && word.length > 1) || (wrapper.assignments === true && assignment.test(word));

const asks = (wrapper: Wrapper, word: string): boolean =>
  !word.startsWith("--") &&
  [...(wrapper.asks ?? "")].some((letter) => word.startsWith("-") && word.includes(letter));

function takesValue(wrapper: Wrapper, word: string): boolean {
  if (!word.startsWith("-")) return false;
  if (word.startsWith("--")) return wrapper.long?.includes(word.slice(2)) ?? false;
  // In a cluster the first letter that takes a value takes the rest of the word, or the next word if nothing is left.
  const taker = [...word].findIndex((letter) => wrapper.valued?.includes(letter));
  return taker === word.length - 1;
}
