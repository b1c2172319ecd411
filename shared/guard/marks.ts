// What a shell word holds that is not plain text becomes a mark: a character that Unicode keeps free of meaning.
// Marks live on inside a nested text (`bash -c "rm -rf $HOME"`), where the parser takes them as letters.
// `gap` parts the words that one word becomes (`$X` where X is `-rf /`); it is gone once a word has been read.
export const marks = {
  unknown: "\uFDD0",
  home: "\uFDD1",
  star: "\uFDD2",
  one: "\uFDD3",
  gap: "\uFDD4",
} as const;

/** Reads back a nested shell text: globs that an outer shell had not matched are globs again. */
export const asShellText = (reading: string): string =>
  reading.replaceAll(marks.star, "*").replaceAll(marks.one, "?");

/** A text that a shell puts into a command without quotes: globs in it work, and spaces part words. */
export const asUnquoted = (text: string): string =>
  text.replaceAll("*", marks.star).replaceAll("?", marks.one).replace(/\s+/g, marks.gap);

/** A reading as it may be shown to a person: one line of at most 80 characters. */
export const shown = (reading: string): string => {
  const text = asShellText(reading).replaceAll(marks.home, "~").replaceAll(marks.unknown, "…");
  const line = text.replace(/\s+/g, " ");
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
};
