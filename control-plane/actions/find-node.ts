import { DroverError } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { NodeRow } from "../store/store.ts";

export const noSuchNode = (): DroverError => new DroverError("not_found", "there is no such node");

/** The node of this id or name, or `not_found`, also where it is out of sight. */
export const findNode = async (needs: Needs, idOrName: string): Promise<NodeRow> => {
  const node = await needs.store.nodes.find(idOrName, needs.within);
  if (node === undefined) throw noSuchNode();
  return node;
};
