import * as z from "zod";
import { followProcess, type FollowEvent } from "../actions/follow-process.ts";
import { positionText } from "../actions/follow-position.ts";
import { resumePosition } from "../actions/resume-position.ts";
import type { Needs } from "../needs.ts";
import { processView } from "./process-view.ts";
import { processId } from "./process-id.ts";
import { route, type Route } from "./route.ts";
import { resumePoint, sse, type SseEvent } from "./sse.ts";

const query = z.strictObject({
  from: z
    .string()
    .max(200)
    .optional()
    .describe("A byte offset of the stream, or the id of an event to go on behind; 0 when left out."),
});

/** `GET …/events`: everything that happens to a process as a stream that can be resumed. */
export const processEvents: Route = route({
  method: "get",
  path: "/v1/processes/:id/events",
  operationId: "followProcess",
  summary: "Follow a process: server-sent events start, output, gap, status, exit, end (and ping every 15 s)",
  tag: "processes",
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
    const resume = await resumePosition(needs, processId(c), text, field);
    if (resume.position.stage === 3) return c.body(null, 204);
    return sse(call, (until) => sseEvents(needs, followProcess(needs, resume, until)));
  },
});

async function* sseEvents(needs: Needs, events: AsyncIterable<FollowEvent>): AsyncGenerator<SseEvent, void> {
  for await (const event of events)
    yield { id: positionText(event.at), event: event.event, data: await dataOf(needs, event) };
}

const dataOf = async (needs: Needs, event: FollowEvent): Promise<unknown> => {
  switch (event.event) {
    case "start":
      return processView(needs, event.row);
    case "status":
      return { status: event.row.status, reason: event.row.reason, pid: event.row.pid };
    case "exit": {
      const { status, exitCode, signal, reason, survivors } = event.row;
      return { status, exitCode, signal, reason, survivors };
    }
    case "end":
      return { status: event.row.status, exitCode: event.row.exitCode };
    case "output":
    case "gap": {
      const { at: _at, event: _event, ...data } = event;
      return data;
    }
  }
};
