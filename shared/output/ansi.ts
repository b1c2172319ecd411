// A terminal's escape sequences (ECMA-48). No sequence runs over a sign that begins another, so each
// character is looked at a few times at most and the time is linear.
const csi = String.raw`(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?`;
// OSC (hyperlinks, titles), DCS, SOS, PM and APC hold a string up to BEL or ST.
const strings = String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c))?`;
const escapes = String.raw`\x1b[ -/]*[0-~]?`;
const c1 = String.raw`[\x80-\x84\x86-\x8f\x91-\x97\x99\x9a\x9c]`;
const sequences = new RegExp([csi, strings, escapes, c1].join("|"), "g");

/**
 * Text without terminal escape sequences. Carriage returns, tabs, backspaces and U+0085 (a line break) are kept as
 * written: a progress bar stays readable as the lines it wrote, and nothing is guessed about what overwrote what.
 * A string sequence that never ends loses its sign only, not the text after it.
 */
export const stripAnsi = (text: string): string => text.replace(sequences, "");
