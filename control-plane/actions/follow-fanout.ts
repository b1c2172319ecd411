import { totalOf } from "#shared/fanout-state.ts";
import type { Needs } from "../needs.ts";
import type { FanoutRow } from "../store/store.ts";
import { fanoutPositionText, isTold, saidOf, type FanoutPosition } from "./fanout-position.ts";
import { looksAtFanout, type Look } from "./looks-at-fanout.ts";
import { Sources } from "./merged.ts";
import { TellNodes, type NodeEvent } from "./tell-nodes.ts";

/**
 * Everything that happens to a fan-out from a position on: `start` → of each node that it runs, what it writes, its ending →
 * `exit`, when the fan-out is final and every node was told → `end`. In between `status`, as the fan-out changes.
 * `id` is the position after the event.
 */
export type FanoutEvent = { id: string } & (
  | { event: "start" | "status" | "exit" | "end"; row: FanoutRow }
  | NodeEvent
);

type Item = { look: Look } | { told: NodeEvent; place(): void } | { over: number };

/** The events of a fan-out from a position on, until `end`, or until the signal aborts. */
export async function* followFanout(
  needs: Needs,
  from: { row: FanoutRow; position: FanoutPosition },
  signal: AbortSignal,
): AsyncGenerator<FanoutEvent, void> {
  const { position } = from;
  const at = <E extends object>(event: E): E & { id: string } => ({
    ...event,
    id: fanoutPositionText(position),
  });
  const said = (event: "start" | "status" | "exit" | "end", row: FanoutRow): FanoutEvent => {
    position.said = saidOf(row);
    return at({ event, row });
  };
  if (position.stage === 0) {
    position.stage = 1;
    yield said("start", from.row);
  }
  const sources = new Sources<Item>();
  const nodes = new TellNodes(needs, position, (told) => sources.add(told), signal);
  sources.add(each(looksAtFanout(needs, from.row.id, signal), (look) => ({ look })));
  let look: Look | undefined;
  for await (const item of sources.values()) {
    if (signal.aborted) return;
    if ("told" in item) {
      item.place();
      yield at(item.told);
    } else if ("over" in item) for await (const event of nodes.over(item.over)) yield at(event);
    else {
      look = item.look;
      for await (const event of nodes.see(look.nodes)) yield at(event);
      if (look.row.endedAt === null && position.said !== saidOf(look.row)) yield said("status", look.row);
    }
    if (look !== undefined && isOver(look, position)) break;
  }
  if (look === undefined || signal.aborted || !isOver(look, position)) return;
  if (position.stage < 2) {
    position.stage = 2;
    yield said("exit", look.row);
  }
  position.stage = 3;
  yield said("end", look.row);
}

async function* each<T, U>(source: AsyncGenerator<T, void>, to: (value: T) => U): AsyncGenerator<U, void> {
  for await (const value of source) yield to(value);
}

/** Whether it is final and all of it was told. */
export const isOver = ({ row, nodes }: Look, position: FanoutPosition): boolean =>
  row.endedAt !== null &&
  nodes.length === totalOf(row.counts) &&
  nodes.every((node) => isTold(position, node));
