import { isFinalNode, totalOf } from "#shared/fanout-state.ts";
import { invalid } from "#shared/errors.ts";
import { maxFanoutNodes } from "#shared/api/fanout.ts";
import type { Needs } from "../needs.ts";
import type { FanoutNodeRow, FanoutRow } from "../store/store.ts";
import { fanoutStart, parseFanoutPosition, type FanoutPosition } from "./fanout-position.ts";
import { isOver } from "./follow-fanout.ts";
import { getFanout } from "./get-fanout.ts";

/**
 * Where a follower wants to begin; a position that is malformed or ahead is `invalid_request`. One that had come to the end
 * of a fan-out which a retry has opened again goes on; `isEnd`: there is nothing to go on with.
 */
export const resumeFanoutPosition = async (
  needs: Needs,
  id: string,
  text: string | undefined,
  field: string,
): Promise<{ row: FanoutRow; position: FanoutPosition; isEnd: boolean }> => {
  const position = text === undefined ? fanoutStart() : parseFanoutPosition(text);
  if (position === undefined) throw invalid([{ path: field, message: "must be the id of an event" }]);
  const row = await getFanout(needs, id);
  if (position.stage === 0) return { row, position, isEnd: false };
  const nodes = await needs.store.fanouts.nodes(id, { limit: maxFanoutNodes });
  if (isAhead(position, row, nodes))
    throw invalid([{ path: field, message: "lies ahead of what has happened" }]);
  const isAll = isOver({ row, nodes }, position);
  if (!isAll) position.stage = 1;
  return { row, position, isEnd: isAll && position.stage === 3 };
};

const isAhead = ({ told, open }: FanoutPosition, row: FanoutRow, nodes: FanoutNodeRow[]): boolean =>
  [...told.values()].some((places) => places.last >= totalOf(row.counts)) ||
  [...open.keys()].some((place) => place >= totalOf(row.counts)) ||
  nodes.some(
    (node) =>
      (open.get(node.position)?.attempt ?? 0) > node.attempt ||
      [...told].some(
        ([attempt, places]) =>
          (attempt > node.attempt || (attempt === node.attempt && !isFinalNode(node.status))) &&
          places.has(node.position),
      ),
  );
