import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { DroverError, errorStatus, type ErrorCode } from "#shared/errors.ts";
import type { Needs } from "../needs.ts";
import type { AppEnv } from "./route.ts";
import { securityHeaders } from "./security-headers.ts";

const titles: Record<ErrorCode, string> = {
  invalid_request: "The request is not valid",
  unauthorized: "A valid token is required",
  forbidden: "The token does not allow this",
  not_found: "There is no such thing",
  method_not_allowed: "This method is not allowed here",
  request_timeout: "The request took too long",
  conflict: "This conflicts with what is there",
  process_not_running: "The process is not running",
  idempotency_mismatch: "The key was used with another input",
  start_canceled: "The start was canceled before it arrived",
  node_draining: "The node is draining",
  node_leased: "The node is leased",
  task_running: "The task is running",
  cursor_expired: "The cursor has expired",
  payload_too_large: "The body is too large",
  range_not_satisfiable: "The range lies outside of the output",
  unsupported_media_type: "The body must be JSON",
  command_refused: "The command is refused by policy",
  not_supported: "This is not supported",
  pattern_too_slow: "The pattern took too long",
  headers_too_large: "The headers are too large",
  secret_not_found: "Secret not found",
  secret_unreadable: "Secret cannot be opened",
  rate_limited: "Too many requests",
  queue_full: "The queue is full",
  node_offline: "The node is offline",
  unavailable: "Not available right now",
  internal: "Something went wrong inside",
};

const contentType = { "content-type": "application/problem+json" };

/** A failure as RFC 9457 has it; `detail` of the error adds fields such as `issues` and `rule`. */
const documentOf = (error: DroverError, requestId: string): string => {
  const status = errorStatus[error.code];
  return JSON.stringify({
    // What an outage knows about its cause is for the log.
    ...(status < 500 ? error.detail : {}),
    type: `urn:drover:problem:${error.code}`,
    title: titles[error.code],
    status,
    code: error.code,
    detail: error.message,
    requestId,
  });
};

/** The same for a request that does not get as far as the app, and so has no id. */
export const problemDocument = (error: DroverError): string => documentOf(error, "");
export const outsideHeaders = { ...securityHeaders, ...contentType };

export const problemOutside = (error: DroverError): Response =>
  new Response(problemDocument(error), { status: errorStatus[error.code], headers: outsideHeaders });

/** The answer to a failure. */
export const problem = (c: Context<AppEnv>, error: DroverError): Response => {
  if (error.code === "unauthorized") c.header("www-authenticate", "Bearer");
  const allow = error.code === "method_not_allowed" ? error.detail["allow"] : undefined;
  if (typeof allow === "string") c.header("allow", allow);
  const { retryAfterS } = error.detail;
  if (typeof retryAfterS === "number") c.header("retry-after", String(retryAfterS));
  return c.body(documentOf(error, c.get("requestId")), errorStatus[error.code], contentType);
};

/** Turns whatever a route threw into the error that is answered; the inside of a bug goes to the log only. */
export const toDroverError = (error: unknown): DroverError => {
  if (error instanceof DroverError) return error;
  if (error instanceof HTTPException && error.status < 500)
    return new DroverError("invalid_request", "the request cannot be read");
  return new DroverError("internal", "an unexpected error; the log has it under this request id", {}, error);
};

/** The one place where failures of routes end. */
export const onError =
  (needs: Needs) =>
  (error: unknown, c: Context<AppEnv>): Response => {
    const failure = toDroverError(error);
    if (errorStatus[failure.code] >= 500) report(needs, failure, c);
    return problem(c, failure);
  };

const report = (needs: Needs, failure: DroverError, c: Context<AppEnv>): void => {
  const fields = {
    requestId: c.get("requestId"),
    method: c.req.method,
    path: c.req.path,
    code: failure.code,
  };
  if (failure.code !== "internal")
    needs.log.warn("request.failed", { ...fields, detail: failure.message, ...failure.detail });
  else
    needs.log.error("request.crashed", {
      ...fields,
      error: failure.cause instanceof Error ? failure.cause.stack : String(failure.cause),
    });
};
