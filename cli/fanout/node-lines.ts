const newline = 10;
const longestLine = 64 * 1024;

/**
 * The output of many nodes as whole lines with the node's name before each, so that what they write at the same time does not
 * run into each other. A line without an end is shown when its node has ended, or when it gets very long.
 */
export class NodeLines {
  readonly #begun = new Map<string, Buffer>();
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  /** The lines that these bytes complete. */
  take(node: string, stream: string, bytes: Uint8Array): Buffer {
    const key = `${node} ${stream}`;
    const all = Buffer.concat([this.#begun.get(key) ?? Buffer.alloc(0), bytes]);
    const end = all.lastIndexOf(newline) + 1;
    const isLong = all.length - end > longestLine;
    this.#begun.set(key, isLong ? Buffer.alloc(0) : all.subarray(end));
    return this.#named(node, isLong ? all : all.subarray(0, end));
  }

  /** What the node has begun and not ended. */
  rest(node: string, stream: string): Buffer {
    const key = `${node} ${stream}`;
    const left = this.#begun.get(key) ?? Buffer.alloc(0);
    this.#begun.delete(key);
    return this.#named(node, left);
  }

  #named(node: string, bytes: Buffer): Buffer {
    const prefix = Buffer.from(`${node.padEnd(this.#width)} | `);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const next = bytes.indexOf(newline, at);
      const end = next === -1 ? bytes.length : next + 1;
      pieces.push(prefix, bytes.subarray(at, end));
      if (next === -1) pieces.push(Buffer.from("\n"));
      at = end;
    }
    return Buffer.concat(pieces);
  }
}
