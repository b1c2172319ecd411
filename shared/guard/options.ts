/** Flags and operands of a simple command, by GNU rules: flags may follow operands until `--`. */
export function splitOptions(argv: readonly string[]): { flags: string[]; operands: string[] } {
  const flags: string[] = [];
  const operands: string[] = [];
  let open = true;
  for (const word of argv.slice(1)) {
    if (open && word === "--") open = false;
    else if (open && word.length > 1 && word.startsWith("-")) flags.push(word);
    else operands.push(word);
  }
  return { flags, operands };
}

/** Whether a flag is among them: as one of the letters, alone or in a cluster, or as the long name or a prefix of it. */
export const hasFlag = (flags: readonly string[], letters: string, long: string): boolean =>
  flags.some((flag) =>
    flag.startsWith("--")
      ? flag.length > 2 && long.startsWith(flag.slice(2))
      : [...letters].some((letter) => flag.includes(letter)),
  );

/** The name a command goes by: its last path segment. */
export const commandName = (argv: readonly string[]): string =>
  argv[0]?.slice(argv[0].lastIndexOf("/") + 1) ?? "";
