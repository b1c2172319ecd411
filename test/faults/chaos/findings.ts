/** What is wrong with the product, with where it was seen. Said once each, counted further on. */
export type Problem = { kind: string; detail: string };

/** What an agent said of its link, in ms since 1970. */
export type LinkEvent = { at: number; event: string; nodeId?: string; why?: string };

const linkEvent = (line: string): LinkEvent => {
  const { at, ...said } = JSON.parse(line) as Omit<LinkEvent, "at"> & { at: string };
  return { ...said, at: Date.parse(at) };
};

const maxDetailsAKind = 50;

export class Findings {
  readonly problems: Problem[] = [];
  readonly counts = new Map<string, number>();
  /** Starts that a control plane gave up as unconfirmed: their nodes were told to stop them. */
  readonly fenced = new Set<string>();
  /** What agents said of their links, by their names. */
  readonly links = new Map<string, LinkEvent[]>();
  readonly #rests = new Map<string, string>();

  add(kind: string, detail: string): void {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count <= maxDetailsAKind) this.problems.push({ kind, detail });
  }

  /** Reads the log of a program as it comes: an error there is a bug, or it would be a warning. */
  hear(name: string, text: string): void {
    const lines = ((this.#rests.get(name) ?? "") + text).split("\n");
    this.#rests.set(name, lines.pop() ?? "");
    for (const line of lines) this.#read(name, line);
  }

  #read(name: string, line: string): void {
    const fenced = /"process\.unconfirmed".*"processId":"(\w+)"/.exec(line)?.[1];
    if (fenced !== undefined) this.fenced.add(fenced);
    if (line.includes('"event":"link.'))
      this.links.set(name, [...(this.links.get(name) ?? []), linkEvent(line)]);
    if (line.includes('"level":"error"')) this.add("error in a log", `${name}: ${line.slice(0, 1500)}`);
  }

  /** A program that nobody killed must not end; only a control plane that finds no database at its start may. */
  fell({ name, wasReady, code, log }: { name: string; wasReady: boolean; code: number | null; log: string }) {
    const hasNoDatabase = !wasReady && code === 2 && log.includes("database");
    if (!hasNoDatabase) this.add("program ended by itself", `${name} with ${code}: ${log}`);
  }
}
