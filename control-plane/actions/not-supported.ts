import type { StartProcessBody } from "#shared/api/process.ts";
import { DroverError } from "#shared/errors.ts";

const unsupported = (field: string): DroverError =>
  new DroverError("not_supported", `${field} is not supported yet`, { field });

/** Refuses fields of the contract that nothing honours yet: a field is never ignored. */
export const requireSupported = (body: StartProcessBody): void => {
  const field = unsupportedField(body);
  if (field !== undefined) throw unsupported(field);
};

const unsupportedField = (body: StartProcessBody): string | undefined => {
  if (body.chatId !== undefined) return "chatId";
  return body.pty === undefined ? undefined : "pty";
};

/** Refuses a whole route of the contract that is not built yet. */
export const routeNotSupported = (what: string): never => {
  throw unsupported(what);
};
