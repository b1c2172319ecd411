/** What an operator can do something about when the embedded database does not start. */
export type EmbeddedFailure =
  | "already_running"
  | "no_binary"
  | "folder_unreachable"
  | "cluster_unusable"
  | "disk_full"
  | "start_failed"
  | "start_timeout";

export type EmbeddedPostgresError = Error & { code: EmbeddedFailure };

/** An Error with a `code`; the entry prints its message as one line and exits. */
export const embeddedError = (
  code: EmbeddedFailure,
  message: string,
  cause?: unknown,
): EmbeddedPostgresError =>
  Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code });

/** The `code` of a system error such as ENOENT, if it has one. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Turns what Postgres wrote on its way down into the one thing to do about it. */
export function failureFromLog(lines: string): EmbeddedPostgresError {
  if (/No space left on device|Disk quota exceeded/.test(lines))
    return embeddedError("disk_full", `The disk is full: Postgres could not start.\n${lines}`);
  if (/database files are incompatible/.test(lines))
    return embeddedError(
      "cluster_unusable",
      `The embedded database was made by another major version of Postgres.\n${lines}`,
    );
  return embeddedError("start_failed", `The embedded Postgres did not start.\n${lines}`);
}

/** Names a failed file operation by what the operator can change. */
export function failureFromSystem(error: unknown, folder: string): Error {
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return embeddedError("disk_full", `The disk is full: nothing can be written to ${folder}.`, error);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return embeddedError("folder_unreachable", `No permission to use the folder ${folder}.`, error);
  return error instanceof Error ? error : new Error(String(error));
}
