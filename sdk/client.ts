// A small client of the REST API: one typed request, failures as values. It keeps connections alive where the
// runtime's `fetch` does, and sends a request again by itself only where that cannot run anything twice.

import { failureOf, failureOfThrown, notJson, type Answer } from "./failure.ts";

const answerMs = 30_000;

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export type RequestOptions = {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** How long the server was asked to wait (`waitMs`), on top of the time an answer may take. */
  waitMs?: number;
};

export interface Client {
  /** Where the control plane is, without a slash at the end. */
  readonly url: string;
  /** Sends a request and reads its JSON answer; never throws for what a network or a server does. */
  request<T>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>;
  /** Opens a response whose body the caller reads: output as bytes, or a stream of events. */
  open(path: string, options?: RequestOptions): Promise<Answer<Response>>;
}

/** A client of the control plane at `url` that signs its requests with `token`. */
export function createClient(settings: { url: string; token: string }): Client {
  const url = settings.url.replace(/\/+$/, "");
  const call = (method: string, path: string, options: RequestOptions): Promise<Answer<Response>> =>
    send(`${url}${path}${queryText(options.query)}`, {
      method,
      headers: headersOf(settings.token, options),
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  return {
    url,
    request: async <T>(method: string, path: string, options: RequestOptions = {}) => {
      const limit = AbortSignal.timeout(answerMs + (options.waitMs ?? 0));
      const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]);
      const answer = await call(method, path, { ...options, signal });
      return answer.ok ? readJson<T>(answer.value) : answer;
    },
    open: (path, options = {}) => call("GET", path, options),
  };
}

/** A header that lets a creating POST be sent again safely. */
export const onlyOnce = (): Record<string, string> => ({ "idempotency-key": crypto.randomUUID() });

async function send(url: string, init: RequestInit & { method: string }): Promise<Answer<Response>> {
  const first = await attempt(url, init);
  return !first.ok && first.failure.code === "unreachable" && isRepeatable(init) ? attempt(url, init) : first;
}

// A kept connection may be closed by the server in the very moment it is used again: one more try tells.
const isRepeatable = (init: RequestInit & { method: string }): boolean =>
  init.method === "GET" || new Headers(init.headers).has("idempotency-key");

async function attempt(url: string, init: RequestInit): Promise<Answer<Response>> {
  try {
    const response = await fetch(url, init);
    if (response.ok) return { ok: true, status: response.status, value: response };
    return { ok: false, failure: await failureOf(response) };
  } catch (error) {
    return { ok: false, failure: failureOfThrown(error, url) };
  }
}

async function readJson<T>(response: Response): Promise<Answer<T>> {
  const isEmpty = response.status === 204;
  try {
    const value = isEmpty ? undefined : await response.json();
    return { ok: true, status: response.status, value: value as T };
  } catch (error) {
    const failure = error instanceof SyntaxError ? notJson(response) : failureOfThrown(error, response.url);
    return { ok: false, failure };
  }
}

function headersOf(token: string, options: RequestOptions): Record<string, string> {
  const type: Record<string, string> =
    options.body === undefined ? {} : { "content-type": "application/json" };
  return { authorization: `Bearer ${token}`, ...type, ...options.headers };
}

function queryText(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  return search.size === 0 ? "" : `?${search}`;
}
