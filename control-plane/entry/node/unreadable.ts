import type { Duplex } from "node:stream";
import { DroverError, errorStatus, type ErrorCode } from "#shared/errors.ts";
import { outsideHeaders, problemDocument } from "../../http/problem.ts";

const phrases: Partial<Record<ErrorCode, string>> = {
  headers_too_large: "Request Header Fields Too Large",
  request_timeout: "Request Timeout",
};

/** Answers what Node's parser does not take, for which there is no request yet, and closes its connection. */
export const answerUnreadable = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const problem = problemOf(error.code);
  const body = problemDocument(problem);
  const head = Object.entries({
    ...outsideHeaders,
    connection: "close",
    "content-length": String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`);
  const status = `HTTP/1.1 ${errorStatus[problem.code]} ${phrases[problem.code] ?? "Bad Request"}`;
  socket.end([status, ...head, "", body].join("\r\n"));
};

const problemOf = (code: string | undefined): DroverError => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new DroverError("headers_too_large", "the line and headers of a request have at most 16 KiB");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new DroverError("request_timeout", "the request took too long to arrive");
    default:
      return new DroverError("invalid_request", "the request cannot be read");
  }
};
