import * as z from "zod";
import { extendBody, signalBody, stdinBody, stopBody, waitAnswer, waitBody } from "#shared/api/process.ts";
import { extendTimeout, listPorts, signalProcess, writeStdin } from "../actions/steer-process.ts";
import { routeNotSupported } from "../actions/not-supported.ts";
import { stopProcess } from "../actions/stop-process.ts";
import { getProcess } from "../actions/wait-final.ts";
import { waitForCondition } from "../actions/wait-condition.ts";
import type { ProcessRow } from "../store/store.ts";
import { processAnswer } from "./answers.ts";
import { processId } from "./process-id.ts";
import { processView } from "./process-view.ts";
import { route, type Route } from "./route.ts";
import { effected } from "./trail.ts";

const oversized = ["payload_too_large", "unsupported_media_type"] as const;

const wait: Route = route({
  method: "post",
  path: "/v1/processes/:id/wait",
  operationId: "waitForProcess",
  summary: "Wait for the first of: exit, a pattern in the output, an open port, quiet",
  tag: "processes",
  audited: false,
  body: waitBody,
  answers: { 200: { description: "What was met, or null when the time ran out", schema: waitAnswer } },
  failures: ["invalid_request", "not_found", "node_offline", "pattern_too_slow", ...oversized],
  staysOpen: () => true,
  handle: async ({ c, needs, body, signal }) => {
    const { process, ...met } = await waitForCondition(needs, processId(c), body, signal);
    return c.json({ ...met, process: await processView(needs, process) });
  },
});

const signalRoute: Route = route({
  method: "post",
  path: "/v1/processes/:id/signal",
  operationId: "signalProcess",
  summary: "Send a signal to the tree or the leader",
  tag: "processes",
  body: signalBody,
  answers: { 200: { description: "Sent", schema: processAnswer } },
  failures: [
    "invalid_request",
    "not_found",
    "process_not_running",
    "node_offline",
    "unavailable",
    ...oversized,
  ],
  handle: async ({ c, needs, body }) =>
    c.json(await processView(needs, await signalProcess(needs, processId(c), body))),
});

const stop: Route = route({
  method: "post",
  path: "/v1/processes/:id/stop",
  operationId: "stopProcess",
  summary: "Stop the tree: TERM, grace, KILL until nothing is left",
  tag: "processes",
  body: stopBody,
  bodyOptional: true,
  answers: { 200: { description: "The process, final or `stopping`", schema: processAnswer } },
  failures: ["invalid_request", "not_found", ...oversized],
  handle: async ({ c, needs, body, signal }) => {
    const asked = ({ id }: ProcessRow): void => effected(c.get("trail"), 200, id);
    const stop = { graceMs: body.graceMs, signal, asked };
    return c.json(await processView(needs, await stopProcess(needs, processId(c), stop)));
  },
});

const stdin: Route = route({
  method: "post",
  path: "/v1/processes/:id/stdin",
  operationId: "writeStdin",
  summary: "Write to an open stdin, or end it",
  tag: "processes",
  body: stdinBody,
  answers: {
    200: { description: "How many bytes were taken", schema: z.object({ writtenBytes: z.number() }) },
  },
  failures: [
    "invalid_request",
    "not_found",
    "process_not_running",
    "conflict",
    "node_offline",
    "unavailable",
    ...oversized,
  ],
  handle: async ({ c, needs, body }) => c.json({ writtenBytes: await writeStdin(needs, processId(c), body) }),
});

const extend: Route = route({
  method: "post",
  path: "/v1/processes/:id/extend",
  operationId: "extendProcess",
  summary: "Set a new hard limit, counted from the start",
  tag: "processes",
  body: extendBody,
  answers: { 200: { description: "The process", schema: processAnswer } },
  failures: [
    "invalid_request",
    "not_found",
    "process_not_running",
    "node_offline",
    "unavailable",
    ...oversized,
  ],
  handle: async ({ c, needs, body }) =>
    c.json(await processView(needs, await extendTimeout(needs, processId(c), body.timeoutMs))),
});

const ports: Route = route({
  method: "get",
  path: "/v1/processes/:id/ports",
  operationId: "listPorts",
  summary: "The ports on which members of the process listen",
  tag: "processes",
  answers: {
    200: {
      description: "The ports",
      schema: z.object({
        ports: z.array(z.object({ port: z.number(), pid: z.number(), address: z.string() })),
      }),
    },
  },
  failures: ["not_found", "process_not_running", "node_offline", "unavailable"],
  handle: async ({ c, needs }) => c.json(await listPorts(needs, processId(c))),
});

const resize: Route = route({
  method: "post",
  path: "/v1/processes/:id/resize",
  operationId: "resizeTerminal",
  summary: "Resize the terminal of a process (not built yet)",
  tag: "processes",
  answers: {},
  failures: ["not_found", "not_supported"],
  handle: async ({ c, needs }) => {
    await getProcess(needs, processId(c));
    return routeNotSupported("resize");
  },
});

const attach: Route = route({
  method: "get",
  path: "/v1/processes/:id/attach",
  operationId: "attachTerminal",
  summary: "Attach to the terminal of a process (not built yet)",
  tag: "processes",
  answers: {},
  failures: ["not_found", "not_supported"],
  handle: async ({ c, needs }) => {
    await getProcess(needs, processId(c));
    return routeNotSupported("attach");
  },
});

export const processControlRoutes: Route[] = [wait, signalRoute, stop, stdin, extend, ports, resize, attach];
