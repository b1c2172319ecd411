/** The two signs of a glob: any run of characters, and any one character. */
export type GlobSigns = { star: string; one: string };

/** Whether the whole name fits the glob. Greedy with one step back: the time is at most pattern × name. */
export function globMatches(
  pattern: string,
  name: string,
  signs: GlobSigns = { star: "*", one: "?" },
): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let i = 0; i < name.length;) {
    if (pattern[at] === signs.star) {
      star = at++;
      resume = i;
    } else if (pattern[at] === signs.one || pattern[at] === name[i]) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++resume;
    } else return false;
  }
  while (pattern[at] === signs.star) at++;
  return at === pattern.length;
}
