import * as z from "zod";
import type { EventView } from "#shared/api/event.ts";
import { eventId } from "../actions/event-id.ts";
import { eventsFrom, followEvents } from "../actions/follow-events.ts";
import type { Needs } from "../needs.ts";
import type { EventPosition, EventRow } from "../store/store.ts";
import { route, type Route } from "./route.ts";
import { resumePoint, sse, type SseEvent } from "./sse.ts";

const query = z.strictObject({
  from: z
    .string()
    .max(200)
    .optional()
    .describe("The id of an event to go on behind; what happens from now on when left out."),
});

/** `GET /v1/events`: nodes as they come, go and change, as a stream that can be resumed. */
export const eventsRoute: Route = route({
  method: "get",
  path: "/v1/events",
  operationId: "followEvents",
  summary:
    "Follow nodes as they come, go and change: server-sent events node.online, node.offline, … (and ping every 15 s)",
  tag: "service",
  query,
  answers: {
    200: {
      description:
        "The events, each named by its type; `id` is the resume point (Last-Event-ID or ?from=). A stream without one opens with `begin`, whose id is where it began",
      media: "text/event-stream",
    },
  },
  failures: ["invalid_request", "cursor_expired"],
  staysOpen: () => true,
  handle: async (call) => {
    const { c, needs, query } = call;
    const { text, field } = resumePoint(c, query.from);
    const from = await eventsFrom(needs, text, field);
    return sse(call, (until) => sseEvents(needs, { from, isNew: text === undefined, signal: until }));
  },
});

type Following = { from: EventPosition; isNew: boolean; signal: AbortSignal };

async function* sseEvents(needs: Needs, { from, isNew, signal }: Following): AsyncGenerator<SseEvent, void> {
  // A follower that is cut before anything happens has a place to go on from, too.
  if (isNew) yield { id: eventId(from), event: "begin", data: {} };
  for await (const event of followEvents(needs, from, signal))
    yield { id: eventId(event.position), event: event.type, data: eventViewOf(event) };
}

const eventViewOf = ({ type, at, nodeId, data }: EventRow): EventView => ({
  type,
  at: at.toISOString(),
  nodeId,
  data,
});
