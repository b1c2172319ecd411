import type { Selector } from "#shared/selector.ts";

/**
 * The part of the fleet that somebody sees: nodes that match a selector now and what runs there, or what belongs to one chat or to
 * some tasks; of several of these, what all of them hold for. Who is confined to a chat or to tasks sees no node.
 */
export type Sight = {
  selector?: Selector | undefined;
  chatId?: string | undefined;
  tasks?: string[] | undefined;
};
