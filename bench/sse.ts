import type { IncomingMessage } from "node:http";

export type Received = { event: string; data: Record<string, unknown>; at: bigint };

/** The events of a stream, each with the moment on the machine's monotonic clock at which its bytes came. */
export async function* received(stream: IncomingMessage): AsyncGenerator<Received, void> {
  let rest = "";
  for await (const bytes of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const at = process.hrtime.bigint();
    const blocks = (rest + bytes).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield { ...parsed(block), at };
  }
}

function parsed(block: string): { event: string; data: Record<string, unknown> } {
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
  return { event: field("event"), data: JSON.parse(field("data")) as Record<string, unknown> };
}
