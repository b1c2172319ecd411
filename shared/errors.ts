/** The HTTP status of every failure a caller can act on is decided in this table and nowhere else. */
export const errorStatus = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  process_not_running: 409,
  idempotency_mismatch: 409,
  start_canceled: 409,
  node_draining: 409,
  node_leased: 409,
  task_running: 409,
  cursor_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  command_refused: 422,
  not_supported: 422,
  pattern_too_slow: 422,
  headers_too_large: 431,
  secret_not_found: 422,
  secret_unreadable: 422,
  rate_limited: 429,
  queue_full: 429,
  node_offline: 503,
  unavailable: 503,
  internal: 500,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** One wrong field of a request: where it is (`limits.logBytes`) and what would be right. */
export type Issue = { path: string; message: string };

/** The one error class of Drover: `code` for programs, `message` for people, `detail` for fields of the answer. */
export class DroverError extends Error {
  readonly code: ErrorCode;
  readonly detail: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, detail: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "DroverError";
    this.code = code;
    this.detail = detail;
  }
}

/** A bad request with the fields that are wrong. */
export const invalid = (issues: Issue[]): DroverError =>
  new DroverError("invalid_request", issues.map((issue) => `${issue.path}: ${issue.message}`).join("; "), {
    issues,
  });
