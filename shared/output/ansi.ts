// A terminal's escape sequences (ECMA-48): CSI `ESC [ … letter`; strings (OSC with hyperlinks and titles,
// DCS, SOS, PM, APC) up to BEL or ST; two- and three-character escapes; the same by their 8-bit C1 forms. No
// sequence runs over a sign that begins another, so each character is looked at a few times and the time is linear.
// oxlint-disable-next-line no-control-regex -- control characters are what this looks for
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])(?:[^\u0007\u0018\u001a\u001b\u0080-\u009f]*(?:\u0007|\u001b\\|\u009c))?|\u001b[ -/]*[0-~]?|[\u0080-\u0084\u0086-\u008f\u0091-\u0097\u0099\u009a\u009c]/g;

/**
 * Text without terminal escape sequences. Carriage returns, tabs, backspaces and U+0085 (a line break) are kept as
 * written: a progress bar stays readable as the lines it wrote, and nothing is guessed about what overwrote what.
 * A string sequence that never ends loses its sign only, not the text after it.
 */
export const stripAnsi = (text: string): string => text.replace(sequences, "");
