import type { ErrorCode, Issue } from "#shared/errors.ts";

/**
 * Why a request has no answer of its own: a code of the API (see `shared/errors.ts`), or one of the client's:
 * `unreachable` (no connection, or it broke), `timeout` (no answer in time), `aborted` (the caller's signal),
 * `bad_answer` (something answered that is not a control plane).
 */
export type FailureCode = ErrorCode | "unreachable" | "timeout" | "aborted" | "bad_answer";

/** An expected outcome of a request, not an exception. */
export type Failure = {
  code: FailureCode;
  message: string;
  /** The HTTP status, null when nothing answered. */
  status: number | null;
  requestId: string | null;
  issues: Issue[];
  /** How long to wait before asking again, where the answer says so. */
  retryAfterMs: number | null;
};

export type Answer<T> = { ok: true; status: number; value: T } | { ok: false; failure: Failure };

const plain = (code: FailureCode, message: string, status: number | null = null): Failure => ({
  code,
  message,
  status,
  requestId: null,
  issues: [],
  retryAfterMs: null,
});

/** Reads the problem document of a refused request; anything else that answers is `bad_answer`. */
export async function failureOf(response: Response): Promise<Failure> {
  const problem = readProblem(await response.text());
  if (problem === undefined) return plain("bad_answer", notDrover(response), response.status);
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    code: problem.code,
    message: problem.detail,
    status: response.status,
    requestId: problem.requestId ?? null,
    issues: problem.issues ?? [],
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  };
}

const notDrover = (response: Response): string =>
  `${new URL(response.url).origin} answered ${response.status} in a way no Drover control plane does`;

type Problem = { code: ErrorCode; detail: string; requestId?: string; issues?: Issue[] };

function readProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isProblem = typeof value === "object" && value !== null && "code" in value && "detail" in value;
    return isProblem ? (value as Problem) : undefined;
  } catch {
    // Not JSON: some other server's error page.
    return undefined;
  }
}

/** Names what `fetch` threw; `url` is told to the reader, never the token. */
export function failureOfThrown(error: unknown, url: string): Failure {
  const origin = new URL(url).origin;
  if (error instanceof DOMException && error.name === "TimeoutError")
    return plain("timeout", `no answer from ${origin} in time`);
  if (error instanceof DOMException && error.name === "AbortError") return plain("aborted", "given up");
  return plain("unreachable", `cannot reach the control plane at ${origin}${because(error)}`);
}

function because(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return "";
  const code = "code" in cause ? String(cause.code) : "";
  if (code === "ECONNREFUSED") return ": nothing listens there";
  if (code === "ENOTFOUND") return ": no such host";
  return `: ${cause.message || code}`;
}

export const notJson = (response: Response): Failure =>
  plain("bad_answer", notDrover(response), response.status);

/** A stream of events that stopped in the middle. */
export const cut = (url: string): Failure =>
  plain("unreachable", `the connection to ${new URL(url).origin} ended`);
