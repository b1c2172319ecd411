const needsNoQuotes = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One word as POSIX shell text that a shell reads back exactly: as it is where that is safe, else in single quotes. */
export const shellQuote = (word: string): string =>
  needsNoQuotes.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

// Unquoted at the start of a command these are grammar, not names.
const reserved =
  /^(?:if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|select|time|coproc)$|=/;

/** An argv as one shell command line that runs exactly these words. */
export const joinArgv = (argv: readonly string[]): string =>
  argv
    .map((word, index) =>
      index === 0 && needsNoQuotes.test(word) && reserved.test(word) ? `'${word}'` : shellQuote(word),
    )
    .join(" ");
