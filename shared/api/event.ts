import * as z from "zod";
import { timestamp } from "./common.ts";

/** Everything that is told of by `/v1/events`, as `noun.verb`. */
export const eventTypes = [
  "node.enrolled",
  "node.online",
  "node.unreachable",
  "node.offline",
  "node.changed",
  "node.deleted",
] as const;
export type EventType = (typeof eventTypes)[number];

/** One event: `type` is also the name of the server-sent event; `data` is what there is to say beyond the ids. */
export const eventView = z.object({
  type: z.enum(eventTypes),
  at: timestamp,
  nodeId: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});
export type EventView = z.infer<typeof eventView>;
