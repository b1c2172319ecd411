import { maxFanoutNodes } from "#shared/api/fanout.ts";
import type { FanoutRow } from "../store/store.ts";
import { startPosition, type Position } from "./follow-position.ts";
import { PlaceSet } from "./place-set.ts";

/**
 * Where a follower of a fan-out stands, as the id of the last event it has. For each attempt the set of nodes whose
 * ending was told (their output came before it), and for the few that are just being told how far; of all others nothing was
 * told yet. It holds all that is needed to go on without loss or repeat, also on another control plane, and stays short: a
 * set that is almost full is a few ranges, and at worst a bit for each node.
 */
export type FanoutPosition = {
  /** 0: nothing yet, 1: `start`, 2: `exit`, 3: `end` was said. */
  stage: 0 | 1 | 2 | 3;
  /** Status and reason of the fan-out as said last. */
  said: string;
  told: Map<number, PlaceSet>;
  open: Map<number, OpenNode>;
};
/** A node that is being told: its attempt, and how far its process was. */
export type OpenNode = { attempt: number; at: Position };

export const fanoutStart = (): FanoutPosition => ({ stage: 0, said: "", told: new Map(), open: new Map() });

export const saidOf = ({ status, reason }: FanoutRow): string =>
  reason === null ? status : `${status}.${reason}`;

export const isTold = ({ told }: FanoutPosition, node: { attempt: number; position: number }): boolean =>
  told.get(node.attempt)?.has(node.position) ?? false;

/** The id of an event: opaque to clients. */
export const fanoutPositionText = ({ stage, said, told, open }: FanoutPosition): string => {
  const sets = [...told].map(([attempt, places]) => `${attempt}:${places.text}`);
  const nodes = [...open].map(([place, { attempt, at }]) => {
    const { merged, stdout, stderr } = at.offsets;
    return [place, attempt, merged, stdout, stderr].join(".");
  });
  return [`f${stage}`, said, sets.join("*"), nodes.join("*")].join(";");
};

const shape = /^f([0-3]);([a-z_]*(?:\.[a-z_]+)?);([^;]{0,8000});([\d.*]{0,8000})$/;

/** Reads an event's id; undefined when it is none. */
export const parseFanoutPosition = (text: string): FanoutPosition | undefined => {
  const [, stage, said = "", sets = "", nodes = ""] = shape.exec(text) ?? [];
  if (stage === undefined) return undefined;
  const told = new Map(parts(sets).map(setOf));
  const open = new Map(parts(nodes).map(openOf));
  if (told.has(-1) || open.has(-1)) return undefined;
  return { stage: Number(stage) as FanoutPosition["stage"], said, told, open };
};

const parts = (text: string): string[] => (text === "" ? [] : text.split("*"));

// A part that is malformed stands under -1.
const setOf = (text: string): [number, PlaceSet] => {
  const [, attempt, places = ""] = /^(\d{1,6}):(.*)$/.exec(text) ?? [];
  const set = attempt === undefined ? undefined : PlaceSet.parse(places, maxFanoutNodes);
  return set === undefined ? [-1, new PlaceSet()] : [Number(attempt), set];
};

const openOf = (text: string): [number, OpenNode] => {
  const [, place, attempt, ...offsets] =
    /^(\d{1,6})\.(\d{1,6})\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  if (place === undefined) return [-1, openedNode(0)];
  const node = openedNode(Number(attempt));
  const [merged = 0, stdout = 0, stderr = 0] = offsets.map(Number);
  node.at.offsets = { merged, stdout, stderr };
  return [Number(place), node];
};

/** A node of which nothing was told yet. */
export const openedNode = (attempt: number): OpenNode => ({ attempt, at: { ...startPosition(), stage: 1 } });
