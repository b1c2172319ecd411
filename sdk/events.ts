// What can be followed: one process, a fan-out, or everything. How a stream survives its connection: stream.ts.

import type { EventSourceMessage } from "eventsource-parser";
import type { EventType, EventView } from "#shared/api/event.ts";
import type { FanoutNodeView, FanoutSummary } from "#shared/api/fanout.ts";
import type { ProcessView } from "#shared/api/process.ts";
import type { StreamName } from "#shared/streams.ts";
import type { Client } from "./client.ts";
import { followStream, type StreamOptions, type WayEvent } from "./stream.ts";

export type OutputEvent = {
  type: "output";
  stream: StreamName;
  from: number;
  to: number;
  text?: string;
  b64?: string;
};
export type ExitEvent = { type: "exit" } & Pick<
  ProcessView,
  "status" | "exitCode" | "signal" | "reason" | "survivors"
>;
export type ProcessEvent =
  | OutputEvent
  | ExitEvent
  | { type: "gap"; stream?: StreamName; from: number; to: number }
  | { type: "start" | "status" | "end" | "ping" }
  | WayEvent;

export type FollowOptions = StreamOptions & {
  /** A byte offset of the stream to begin with; 0 when left out. */
  from?: number;
};

/** Everything that happens to a process, from its first byte to `end`; ends without `end` only after `failed` or when the signal aborts. */
export const followProcess = (
  client: Client,
  id: string,
  { from, ...options }: FollowOptions = {},
): AsyncGenerator<ProcessEvent> =>
  followStream<ProcessEvent>(
    client,
    {
      path: `/v1/processes/${encodeURIComponent(id)}/events`,
      from,
      read: (message) => ({ ...dataOf(message), type: message.event ?? "message" }) as ProcessEvent,
    },
    options,
  );

type OfNode = { node: string; nodeId: string; processId: string };
export type FanoutEvent =
  | (OutputEvent & OfNode)
  | ({ type: "gap"; stream: StreamName; from: number; to: number } & OfNode)
  | ({ type: "node" } & FanoutNodeView)
  | ({ type: "start" } & FanoutSummary)
  | ({ type: "status" | "exit" } & Pick<FanoutSummary, "status" | "reason" | "counts">)
  | { type: "end" | "ping" }
  | WayEvent;

/** Everything that happens to a fan-out and its nodes, until `end`; ends without it only after `failed` or when the signal aborts. */
export const followFanout = (
  client: Client,
  id: string,
  options: StreamOptions = {},
): AsyncGenerator<FanoutEvent> =>
  followStream<FanoutEvent>(
    client,
    {
      path: `/v1/fanouts/${encodeURIComponent(id)}/events`,
      read: (message) => ({ ...dataOf(message), type: message.event ?? "message" }) as FanoutEvent,
    },
    options,
  );

/** `id` is where to go on from (`from` of a later call); `begin` comes first where none was given. */
export type FleetEvent =
  | ({ id: string; type: EventType } & Omit<EventView, "type">)
  | { id: string; type: "begin" }
  | { type: "ping" }
  | WayEvent;

/** Everything that happens, from now on or behind the id `from`; ends only after `failed` or when the signal aborts. */
export const followEvents = (
  client: Client,
  { from, ...options }: StreamOptions & { from?: string } = {},
): AsyncGenerator<FleetEvent> =>
  followStream<FleetEvent>(
    client,
    {
      path: "/v1/events",
      from,
      read: (message) => ({ ...dataOf(message), id: message.id, type: message.event }) as FleetEvent,
    },
    options,
  );

const dataOf = ({ data }: EventSourceMessage): object => (data === "" ? {} : (JSON.parse(data) as object));
