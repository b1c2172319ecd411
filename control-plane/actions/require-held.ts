import type { NodeFacts } from "#shared/api/node.ts";
import type { StartProcessBody } from "#shared/api/process.ts";
import { type Asked, unheldField } from "#shared/api/walls.ts";
import { DroverError } from "#shared/errors.ts";
import type { NodeRow } from "../store/store.ts";

/** What a start asks of the walls of its node; undefined where it asks nothing, so that the node need not be looked up for it. */
export const wallsAsked = ({ limits, user }: StartProcessBody): Asked | undefined => {
  const asked = { ...limits, user };
  return unheldField(asked, []) === undefined ? undefined : asked;
};

/** Refuses what the node cannot hold, by what its agent said of it last. The agent, which knows best, looks again. */
export const requireHeld = ({ name, facts }: NodeRow, asked: Asked): void => {
  const isOwn = asked.user !== undefined && asked.user === facts.user;
  const field = unheldField(isOwn ? { ...asked, user: undefined } : asked, facts.enforces ?? []);
  if (field === undefined) return;
  throw new DroverError("not_supported", `the node ${name} cannot hold ${field}: ${why(field, facts)}`, {
    field,
    node: name,
  });
};

const why = (field: string, { enforces = [], user }: NodeFacts): string =>
  field === "user"
    ? `its agent runs as ${user ?? "one user"}, and only an agent that is root can run commands as another`
    : `it enforces ${enforces.join(", ") || "nothing of the kind"}`;
