import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";

const bin = join(import.meta.dirname, "../../bin/drover.js");
const keptChars = 200_000;

export type Ended = { code: number | null; signal: NodeJS.Signals | null };

export type DaemonOptions = {
  /** What is started, with its first words; `drover` if not given. */
  program?: string[];
  env: Record<string, string>;
  uid?: number;
  gid?: number;
  /** Open descriptors that the program inherits from 3 on. */
  inherited?: number[];
  /** Hears all it says, as it comes. */
  heard?: (text: string) => void;
};

const drover = [process.execPath, bin];

/** A long-lived program with what it said. */
export class Daemon {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #readers = new Set<() => void>();
  readonly #heard: ((text: string) => void) | undefined;
  #log = "";

  constructor(words: string[], { program = drover, env, uid, gid, inherited = [], heard }: DaemonOptions) {
    this.#heard = heard;
    const [file = "", ...first] = program;
    this.#child = spawn(file, [...first, ...words], {
      env,
      cwd: "/",
      stdio: ["ignore", "pipe", "pipe", ...inherited],
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.ended = new Promise((resolve) => {
      this.#child.once("error", () => resolve({ code: null, signal: null }));
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get log(): string {
    return this.#log;
  }

  /** Resolves when a text stands in its output; fails when it ends without it. */
  seen(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.#log.includes(text)) return;
        this.#readers.delete(look);
        resolve();
      };
      this.#readers.add(look);
      look();
      void this.ended.then((end) =>
        reject(new Error(`ended (${JSON.stringify(end)}) without "${text}":\n${this.#log}`)),
      );
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    this.kill(signal);
    return this.ended;
  }

  #hear(text: string): void {
    this.#heard?.(text);
    this.#log = (this.#log + text).slice(-keptChars);
    for (const look of [...this.#readers]) look();
  }
}
