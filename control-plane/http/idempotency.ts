import { DroverError } from "#shared/errors.ts";
import type { Call } from "./route.ts";

export type Once<T> = { replayed: false; made: T } | { replayed: true; id: string };

const keyShape = /^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * Runs `make` once for the Idempotency-Key of a request; without the header, always. What it makes gets the id `objectId`,
 * by which a repeat finds it even when the first call was cut off. A key belongs to token, method and path; what is stored
 * are a keyed digest of the body and the id of the object, never the answer.
 */
export const once = async <T extends { id: string }>(
  call: Asking,
  objectId: string,
  make: () => Promise<T>,
): Promise<Once<T>> => {
  const outcome = await onceFor(call, objectId, make);
  call.c.get("trail").note({ objectId: outcome.replayed ? outcome.id : outcome.made.id });
  return outcome;
};

type Asking = Pick<Call<unknown, unknown>, "c" | "needs" | "bodyText">;

const onceFor = async <T extends { id: string }>(
  call: Asking,
  objectId: string,
  make: () => Promise<T>,
): Promise<Once<T>> => {
  const { c, needs } = call;
  const key = c.req.header("idempotency-key");
  if (key === undefined) return { replayed: false, made: await make() };
  if (!keyShape.test(key))
    throw new DroverError("invalid_request", "Idempotency-Key: must be 1 to 255 printable characters", {
      issues: [{ path: "Idempotency-Key", message: "must be 1 to 255 printable characters" }],
    });
  let made: T | undefined;
  const scope = `${c.get("principal").tokenHash} ${c.req.method} ${c.req.path}`;
  const claim = {
    scope,
    key,
    objectId,
    digest: await needs.seal.digest(call.bodyText),
    olderDigests: await needs.seal.olderDigests(call.bodyText),
    instance: needs.instance,
    now: needs.now(),
  };
  const result = await needs.store.idempotency.once(claim, async () => {
    made = await make();
    return made.id;
  });
  if (result.outcome === "mismatch")
    throw new DroverError("idempotency_mismatch", "this Idempotency-Key was used with another body");
  return made === undefined ? replay(call, result.objectId) : { replayed: false, made };
};

const replay = (call: Pick<Call<unknown, unknown>, "c">, id: string): Once<never> => {
  call.c.header("idempotent-replayed", "true");
  return { replayed: true, id };
};
