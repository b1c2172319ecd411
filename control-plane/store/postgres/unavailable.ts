import { DroverError } from "#shared/errors.ts";

// What says that the database is away, restarting, full of connections or too busy: worth a retry, nobody's bug.
const passing = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "57P01",
  "57P02",
  "57P03",
  "57014",
  "55P03",
  "53300",
  "08006",
  "08001",
  "08003",
  "53100",
  "25006",
]);

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined;

const translated = (error: unknown): unknown => {
  const code = codeOf(error);
  if (error instanceof DroverError || typeof code !== "string" || !passing.has(code)) return error;
  return new DroverError("unavailable", "The database does not answer.", { cause: code }, error);
};

/** The same verbs; a database that is away rejects with the DroverError `unavailable`. */
export const withUnavailable = <T extends object>(group: T): T =>
  new Proxy(group, {
    get(target, name, receiver) {
      const verb: unknown = Reflect.get(target, name, receiver);
      if (typeof verb !== "function") return verb;
      return async (...args: unknown[]) => {
        try {
          return await Reflect.apply(verb, target, args);
        } catch (error) {
          throw translated(error);
        }
      };
    },
  });
