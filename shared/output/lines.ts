const newline = 10;

/** How many newlines are in a chunk: summed over the chunks of a stream, the number of its finished lines. */
export function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}
