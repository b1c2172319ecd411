import { isFinalNode } from "#shared/fanout-state.ts";
import type { Needs } from "../needs.ts";
import type { FanoutNodeRow, KeptOutput } from "../store/store.ts";
import { isTold, openedNode, type FanoutPosition, type OpenNode } from "./fanout-position.ts";
import type { Position } from "./follow-position.ts";
import { followProcess } from "./follow-process.ts";
import { OutputText, type OutputEvent } from "./output-events.ts";
import { PlaceSet } from "./place-set.ts";
import { holdsAll, joinPieces, readStored } from "./stored-output.ts";

export type NodeEvent =
  | { event: "node"; node: FanoutNodeRow }
  | { event: "output" | "gap"; node: FanoutNodeRow; output: OutputEvent };

/**
 * What one node brings. It waits until it is told: `place` takes the position there, and is called only then, since the id of an
 * event may hold nothing that is told after it.
 */
export type Told = AsyncGenerator<{ told: NodeEvent; place(): void } | { over: number }, void>;

/** Processes that are followed at once; others have their turn as these end. */
const followedAtOnce = 64;
/** More of them for nodes that have ended, so that those which go on and on do not keep them away. */
const endedAtOnce = 16;
const keptAtOnce = 64;

/**
 * Tells the nodes of a fan-out: that one runs, what it writes, how it ended, in this order. What ended before its turn and is
 * kept whole in the store is told from there, many nodes with one question; everything else by following its process.
 * A node whose retry began before all of the earlier attempt was told begins anew.
 */
export class TellNodes {
  readonly #needs: Needs;
  readonly #position: FanoutPosition;
  readonly #add: (told: Told) => void;
  readonly #signal: AbortSignal;
  readonly #followed = new Map<number, FanoutNodeRow>();
  /** Followed to the end, and their ending is not in the row yet. */
  readonly #over = new Set<number>();
  /** Ended, and only following shows all they wrote. */
  readonly #long = new Set<string>();
  #nodes = new Map<number, FanoutNodeRow>();

  constructor(needs: Needs, position: FanoutPosition, add: (told: Told) => void, signal: AbortSignal) {
    this.#needs = needs;
    this.#position = position;
    this.#add = add;
    this.#signal = signal;
  }

  /** Takes the newest rows, and tells what they bring. */
  async *see(nodes: FanoutNodeRow[]): AsyncGenerator<NodeEvent, void> {
    this.#nodes = new Map(nodes.map((node) => [node.position, node]));
    for (const place of this.#over) yield* this.#close(place);
    yield* this.#takeUp();
  }

  /** All that the followed process of this node wrote was told. */
  async *over(place: number): AsyncGenerator<NodeEvent, void> {
    this.#over.add(place);
    yield* this.#close(place);
    yield* this.#takeUp();
  }

  *#close(place: number): Generator<NodeEvent> {
    const [followed, node] = [this.#followed.get(place), this.#nodes.get(place)];
    const isSame = node !== undefined && node.processId === followed?.processId;
    if (isSame && !isFinalNode(node.status)) return;
    this.#over.delete(place);
    this.#followed.delete(place);
    if (isSame) yield this.#ending(node);
    else this.#position.open.delete(place);
  }

  #ending(node: FanoutNodeRow): NodeEvent {
    const told = this.#position.told.get(node.attempt) ?? new PlaceSet();
    told.add(node.position);
    this.#position.told.set(node.attempt, told);
    this.#position.open.delete(node.position);
    return { event: "node", node };
  }

  async *#takeUp(): AsyncGenerator<NodeEvent, void> {
    const waiting = [...this.#nodes.values()].filter(
      (node) => !isTold(this.#position, node) && !this.#followed.has(node.position),
    );
    for (const node of waiting)
      if (isFinalNode(node.status) && node.startedAt === null) yield this.#ending(node);
    const begun = waiting.filter((node) => node.startedAt !== null);
    const ended = begun.filter((node) => isFinalNode(node.status));
    yield* this.#kept(ended.filter((node) => !this.#long.has(node.processId ?? "")));
    for (const node of ended)
      if (!isTold(this.#position, node)) yield* this.#follow(node, followedAtOnce + endedAtOnce);
    for (const node of begun) if (!isFinalNode(node.status)) yield* this.#follow(node, followedAtOnce);
  }

  *#follow(node: FanoutNodeRow, atOnce: number): Generator<NodeEvent> {
    if (this.#followed.size >= atOnce) return;
    this.#followed.set(node.position, node);
    const { open, isNew } = this.#opened(node);
    if (isNew && !isFinalNode(node.status)) yield { event: "node", node };
    this.#add(outputOf(this.#needs, node, open, this.#signal));
  }

  #opened(node: FanoutNodeRow): { open: OpenNode; isNew: boolean } {
    const before = this.#position.open.get(node.position);
    if (before?.attempt === node.attempt) return { open: before, isNew: false };
    const open = openedNode(node.attempt);
    this.#position.open.set(node.position, open);
    return { open, isNew: true };
  }

  async *#kept(nodes: FanoutNodeRow[]): AsyncGenerator<NodeEvent, void> {
    for (let at = 0; at < nodes.length && !this.#signal.aborted; at += keptAtOnce) {
      const some = nodes.slice(at, at + keptAtOnce);
      const kept = await this.#needs.store.fanouts.kept(some.map((node) => node.processId ?? ""));
      for (const node of some) {
        const streams = kept.get(node.processId ?? "");
        if (streams?.every(holdsAll)) yield* this.#whole(node, streams);
        else this.#long.add(node.processId ?? "");
      }
    }
  }

  *#whole(node: FanoutNodeRow, streams: KeptOutput[]): Generator<NodeEvent> {
    const { open } = this.#opened(node);
    const text = new OutputText(open.at);
    for (const stream of streams) {
      const from = open.at.offsets[stream.stream];
      for (const piece of joinPieces(readStored(stream, { from }).pieces))
        for (const output of text.take({ ...piece, stream: stream.stream }))
          yield { event: output.event, node, output };
    }
    for (const output of text.flush()) yield { event: output.event, node, output };
    yield this.#ending(node);
  }
}

/** What the process of a node writes, up to its ending; what survivors write after that is not told. */
async function* outputOf(needs: Needs, node: FanoutNodeRow, open: OpenNode, signal: AbortSignal): Told {
  const row = await needs.store.processes.get(node.processId ?? "");
  if (row !== undefined)
    for await (const event of followProcess(needs, { row, position: open.at }, signal)) {
      if (event.event === "exit" || event.event === "end") break;
      if (event.event !== "output" && event.event !== "gap") continue;
      const at: Position = { ...event.at, stage: 1, offsets: { ...event.at.offsets } };
      yield { told: { event: event.event, node, output: event }, place: () => (open.at = at) };
    }
  yield { over: node.position };
}
