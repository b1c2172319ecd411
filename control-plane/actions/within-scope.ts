import type { TokenScope } from "#shared/api/token.ts";
import { DroverError } from "#shared/errors.ts";
import { parseSelector } from "#shared/selector.ts";
import type { Needs } from "../needs.ts";
import type { Sight, Store } from "../store/store.ts";
import { findNode } from "./find-node.ts";

/** What a scope lets see; undefined for all of the fleet. */
export const sightOf = ({ selector, chatId, tasks }: TokenScope): Sight | undefined => {
  if (selector === undefined && chatId === undefined && tasks === undefined) return undefined;
  if (selector === undefined) return { chatId, tasks };
  const parsed = parseSelector(selector);
  // It was parsed before it was stored. Nothing is shown by half a scope.
  if (!parsed.ok) throw new Error(`A stored selector cannot be read: ${parsed.error}`);
  return { selector: parsed.selector, chatId, tasks };
};

/**
 * What actions work with on behalf of somebody with this scope: a store in which what is out of sight is not there. So an action
 * has nothing to check, and none can forget to.
 */
export const needsWithin = (needs: Needs, scope: TokenScope): Needs => {
  const within = sightOf(scope);
  return within === undefined ? needs : { ...needs, within, store: storeWithin(needs.store, within) };
};

const storeWithin = (store: Store, within: Sight): Store => {
  const { nodes, processes, fanouts, events } = store;
  return {
    ...store,
    // `find` is left as it is: that a process's node is there is to be known by who sees the process. `findNode` asks by sight.
    nodes: changed(nodes, { list: (query) => nodes.list({ ...query, within }) }),
    processes: changed(processes, {
      get: (id) => processes.get(id, within),
      list: (query) => processes.list({ ...query, within }),
    }),
    fanouts: changed(fanouts, {
      get: (id) => fanouts.get(id, within),
      list: (query) => fanouts.list({ ...query, within }),
      nodes: (id, query) => fanouts.nodes(id, { ...query, within }),
      begun: (id) => fanouts.begun(id, within),
      groups: (id, bounds) => fanouts.groups(id, { ...bounds, within }),
    }),
    events: changed(events, { after: (position, limit) => events.after(position, limit, within) }),
  };
};

const changed = <Noun extends object>(noun: Noun, verbs: Partial<Noun>): Noun =>
  Object.assign(Object.create(noun), verbs);

/** Refuses a start or cancel at a node or in a chat that is out of sight, before anything else is asked about it. */
export const requireWithin = async (
  needs: Needs,
  place: { node?: string | undefined; chatId?: string | undefined },
): Promise<void> => {
  if (needs.within === undefined) return;
  if (place.node !== undefined) await findNode(needs, place.node);
  else if (needs.within.chatId !== place.chatId && isConfined(needs.within))
    throw new DroverError("not_found", "there is no such chat");
};

/** Whether it is one chat's or some tasks', not that of whoever works on nodes. */
export const isConfined = (within: Sight | undefined): boolean =>
  within?.chatId !== undefined || within?.tasks !== undefined;
