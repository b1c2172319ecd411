// A client as a good one is: it asks another control plane, or again after a pause, when it got no answer or 503, and it
// repeats only what may be repeated.
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type Client, type RequestOptions } from "../../../sdk/client.ts";
import type { Answer, Failure } from "../../../sdk/failure.ts";
import type { Fleet } from "./fleet.ts";

const pauseMs = { first: 100, longest: 1000 };

export type Caller = {
  /** Asks until there is an answer that asking again would not change; undefined when the signal aborts first. */
  ask<T>(
    method: string,
    path: string,
    options: RequestOptions & { signal: AbortSignal },
  ): Promise<Answer<T> | undefined>;
  /** One try, at the next control plane. */
  try: Client["request"];
  /** For followers: each connection goes to the next control plane. */
  client: Client;
};

export function goodClient(fleet: Fleet): Caller {
  const clients = fleet.controlPlanes.map(({ client }) =>
    createClient({ url: client.url, token: fleet.token }),
  );
  let turn = 0;
  const next = (): Client => {
    const client = clients[turn++ % clients.length];
    if (client === undefined) throw new Error("no control plane");
    return client;
  };
  const client: Client = {
    url: next().url,
    request: (...asked) => next().request(...asked),
    open: (...asked) => next().open(...asked),
  };
  return {
    client,
    try: client.request,
    async ask<T>(method: string, path: string, options: RequestOptions & { signal: AbortSignal }) {
      for (let ms = pauseMs.first; !options.signal.aborted; ms = Math.min(2 * ms, pauseMs.longest)) {
        const answer = await client.request<T>(method, path, options);
        if (answer.ok || !isPassing(answer.failure)) return answer;
        await pause(ms, undefined, { signal: options.signal }).catch(() => undefined);
      }
      return undefined;
    },
  };
}

/** Whether asking again may help: no answer, one that was cut, or "not now". */
const isPassing = ({ status, code }: Failure): boolean =>
  status === null || status === 503 || status === 429 || code === "unreachable" || code === "timeout";
