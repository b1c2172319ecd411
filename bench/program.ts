import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

const keptText = 64 * 1024;

export type ProgramOptions = {
  bin: string;
  env: Record<string, string>;
  nodeOptions?: string[];
  /** What is started instead of Node with `bin`, with its first words. */
  program?: string[] | undefined;
};

/** A program of its own: `drover`, unless told otherwise. */
export class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #text = "";

  constructor(words: string[], { bin, env, nodeOptions = [], program }: ProgramOptions) {
    const [file = "", ...first] = program ?? [process.execPath, ...nodeOptions, bin];
    this.#child = spawn(file, [...first, ...words], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "close");
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream
        ?.setEncoding("utf8")
        .on("data", (text: string) => void (this.#text = (this.#text + text).slice(-keptText)));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The first match in what the program says; fails when it ends or takes too long. */
  async seen(pattern: RegExp, withinMs: number): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(withinMs);
    for (;;) {
      const match = pattern.exec(this.#text);
      if (match !== null) return match;
      if (this.#child.exitCode !== null || signal.aborted) throw new Error(`no ${pattern} in: ${this.#text}`);
      // Whatever comes first, or the limit: then the text is looked at again.
      await Promise.race([this.#said(signal), this.#ended]).catch(() => undefined);
    }
  }

  /** Ends it in order; after the limit the hard way. */
  async stop(withinMs: number): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#ended;
    clearTimeout(late);
  }

  /** Kills it outright. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #said(signal: AbortSignal): Promise<void> {
    const either = new AbortController();
    const options = { signal: AbortSignal.any([signal, either.signal]) };
    const streams = [this.#child.stdout, this.#child.stderr].filter((stream) => stream !== null);
    await Promise.race(streams.map((stream) => once(stream, "data", options))).finally(() => either.abort());
  }
}
