import { maskTokens } from "./mask-tokens.ts";

/**
 * Texts that a log shows in no line, as they are and as JSON has them. So that they are not too many, the oldest are
 * forgotten, but for those that are hidden for always.
 */
export type HiddenTexts = { hide(text: string, until?: "always"): void; masked(line: string): string };

export const hiddenTexts = (most = 1000): HiddenTexts => {
  const always = new Set<string>();
  const recent = new Set<string>();
  return {
    hide(text, until) {
      if (text === "") return;
      for (const form of [text, JSON.stringify(text).slice(1, -1)]) {
        recent.delete(form);
        (until === "always" ? always : recent).add(form);
      }
      for (const form of recent) if (recent.size > 2 * most) recent.delete(form);
    },
    // The longest first: one that lies within another would leave its rest.
    masked: (line) =>
      maskTokens(
        [...always, ...recent]
          .filter((text) => line.includes(text))
          .toSorted((one, other) => other.length - one.length)
          .reduce((text, hidden) => text.replaceAll(hidden, "***"), line),
      ),
  };
};
