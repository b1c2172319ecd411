// A client that costs as little as it can: plain node:http on connections that stay open. What is measured is Drover.

import { Agent, request, type IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";

const maxSockets = 32;
const answerWithinMs = 330_000;

export type Client = {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  /** The body of an answer as it comes. */
  open(path: string): Promise<IncomingMessage>;
  close(): void;
};

export function createClient(url: string, token: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets });
  const { hostname, port } = new URL(url);
  const authorization = `Bearer ${token}`;
  const send = (method: string, path: string, body?: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const type =
        body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const options = { hostname, port, method, path, agent, headers: { authorization, ...type } };
      const call = request(options, resolve);
      call.setTimeout(answerWithinMs, () => call.destroy(new Error(`no answer to ${method} ${path}`)));
      call.on("error", reject).end(body);
    });
  return {
    get: async (path) => parsed(await send("GET", path)),
    post: async (path, body) => parsed(await send("POST", path, JSON.stringify(body))),
    open: async (path) => accepted(await send("GET", path)),
    close: () => agent.destroy(),
  };
}

async function parsed<T>(answer: IncomingMessage): Promise<T> {
  return JSON.parse(await textOf(await accepted(answer))) as T;
}

async function accepted(answer: IncomingMessage): Promise<IncomingMessage> {
  if ((answer.statusCode ?? 0) < 300) return answer;
  throw new Error(`${answer.statusCode}: ${await textOf(answer)}`);
}
