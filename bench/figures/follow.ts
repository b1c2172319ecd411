import { spawn } from "node:child_process";
import type { Figure } from "../figure.ts";
import type { Product } from "../product.ts";
import { received } from "../sse.ts";
import { median, quantile } from "../statistics.ts";

// A child writes the time of the machine's monotonic clock, line by line; a reader compares it with the time of receipt
// on the same clock. A second child does the same at the same time through a pipe: what the machine itself takes.
const lines = 400;
const everyMs = 20;
const skipped = 5;

/** How long a written line takes to reach somebody who follows. */
export const follow: Figure = {
  name: "follow",
  async take(bench) {
    const product = await bench.shared();
    const script = writer(bench.times(lines, skipped + 5));
    const [ours, piped] = await Promise.all([followed(product, script), throughPipe(script)]);
    return [
      { name: "child's write to SSE reader, p50", value: median(ours), unit: "ms", goal: { atMost: 10 } },
      { name: "child's write to SSE reader, p99", value: quantile(ours, 0.99), unit: "ms" },
      { name: "child's write through a pipe, p50", value: median(piped), unit: "ms" },
      { name: "child's write through a pipe, p99", value: quantile(piped, 0.99), unit: "ms" },
    ];
  },
};

const writer = (count: number): string => `let left = ${count};
const timer = setInterval(() => {
  require("fs").writeSync(1, process.hrtime.bigint() + "\\n");
  if (--left === 0) clearInterval(timer);
}, ${everyMs});`;

async function followed(product: Product, script: string): Promise<number[]> {
  const { id } = await product.start({ argv: [process.execPath, "-e", script] });
  const late = new Lateness();
  for await (const { event, data, at } of received(await product.client.open(`/v1/processes/${id}/events`))) {
    if (event === "output") late.take(String(data["text"]), at);
    if (event === "end") return late.ms.slice(skipped);
  }
  throw new Error("the stream ended before its end event");
}

async function throughPipe(script: string): Promise<number[]> {
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const late = new Lateness();
  for await (const text of child.stdout.setEncoding("utf8") as AsyncIterable<string>)
    late.take(text, process.hrtime.bigint());
  return late.ms.slice(skipped);
}

class Lateness {
  readonly ms: number[] = [];
  #rest = "";

  take(text: string, at: bigint): void {
    const whole = (this.#rest + text).split("\n");
    this.#rest = whole.pop() ?? "";
    for (const line of whole) this.ms.push(Number(at - BigInt(line)) / 1e6);
  }
}
