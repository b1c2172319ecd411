import type { StartProcessBody } from "#shared/api/process.ts";
import { type Asked, unheldField } from "#shared/api/walls.ts";
import { DroverError } from "#shared/errors.ts";
import type { NodeRow } from "../store/store.ts";

/** What a start asks of the walls of its node; undefined where it asks nothing, so that the node need not be looked up for it. */
export const wallsAsked = ({ limits }: StartProcessBody): Asked | undefined =>
  unheldField(limits, []) === undefined ? undefined : limits;

/** Refuses what the node cannot hold, by what its agent said of it last. The agent, which knows best, looks again. */
export const requireHeld = ({ name, facts }: NodeRow, asked: Asked): void => {
  const field = unheldField(asked, facts.enforces ?? []);
  if (field === undefined) return;
  const held = facts.enforces?.join(", ") || "nothing of the kind";
  throw new DroverError("not_supported", `the node ${name} cannot hold ${field}: it enforces ${held}`, {
    field,
    node: name,
  });
};
