import * as z from "zod";
import { followFanout, type FanoutEvent } from "../actions/follow-fanout.ts";
import { resumeFanoutPosition } from "../actions/resume-fanout-position.ts";
import { fanoutId } from "./fanouts.ts";
import { fanoutNodeView, fanoutSummary } from "./fanout-view.ts";
import { route, type Route } from "./route.ts";
import { resumePoint, sse, type SseEvent } from "./sse.ts";

const query = z.strictObject({
  from: z.string().max(16_000).optional().describe("The id of an event to go on behind."),
});

/** `GET …/events`: everything that happens to a fan-out and its nodes as a stream that can be resumed. */
export const fanoutEvents: Route = route({
  method: "get",
  path: "/v1/fanouts/:id/events",
  operationId: "followFanout",
  summary:
    "Follow a fan-out: server-sent events start, node, output, gap, status, exit, end (and ping every 15 s)",
  tag: "fanouts",
  query,
  answers: {
    200: {
      description: "The events; `id` is the resume point (Last-Event-ID or ?from=)",
      media: "text/event-stream",
    },
    204: { description: "The stream had ended at this id" },
  },
  failures: ["invalid_request", "not_found"],
  staysOpen: () => true,
  handle: async (call) => {
    const { c, needs, query } = call;
    const { text, field } = resumePoint(c, query.from);
    const resume = await resumeFanoutPosition(needs, fanoutId(c), text, field);
    if (resume.isEnd) return c.body(null, 204);
    return sse(call, (until) => sseEvents(followFanout(needs, resume, until)));
  },
});

async function* sseEvents(events: AsyncIterable<FanoutEvent>): AsyncGenerator<SseEvent, void> {
  for await (const event of events) yield { id: event.id, event: event.event, data: dataOf(event) };
}

const dataOf = (event: FanoutEvent): unknown => {
  switch (event.event) {
    case "start":
      return fanoutSummary(event.row);
    case "status":
    case "exit": {
      const { status, reason, counts } = event.row;
      return { status, reason, counts };
    }
    case "end":
      return { status: event.row.status };
    case "node":
      return fanoutNodeView(event.node);
    case "output":
    case "gap": {
      const { at: _at, event: _event, ...data } = event.output;
      const { nodeName, nodeId, processId } = event.node;
      return { node: nodeName, nodeId, processId, ...data };
    }
  }
};
