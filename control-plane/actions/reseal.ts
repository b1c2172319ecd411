import type { Resealed } from "#shared/api/secret.ts";
import { invalid } from "#shared/errors.ts";
import { secretContext } from "../secrets/resolve-env.ts";
import type { Needs } from "../needs.ts";
import { CannotOpen } from "../secrets/seal.ts";
import type { SealedPlace } from "../store/store.ts";

/**
 * Seals with the current key what an older one sealed, a batch a call, so that the older key can go. What changes meanwhile
 * was sealed by somebody who knows the current key, or is over. A cursor is the place and the id where the next call goes on.
 */
const batch = 500;

const sealedPlaces: SealedPlace[] = ["processes", "fanouts", "secrets"];

const kinds: Record<SealedPlace, Resealed["unreadable"][number]["kind"]> = {
  processes: "process",
  fanouts: "fanout",
  secrets: "secret",
};

export const reseal = async (needs: Needs, cursor = `${sealedPlaces[0]}/`): Promise<Resealed> => {
  const { place, after } = positionOf(cursor);
  const { keyId, mark } = needs.seal;
  const values = await needs.store.sealedValues.others(place, { mark, after, limit: batch });
  const done: Resealed = { keyId, resealed: 0, unreadable: [], nextCursor: null };
  for (const value of values) {
    const outcome = await resealOne(needs, place, value);
    if (outcome instanceof CannotOpen)
      done.unreadable.push({ kind: kinds[place], id: value.id, keyId: outcome.keyId });
    else if (outcome) done.resealed += 1;
  }
  const last = values.length === batch ? values.at(-1)?.id : undefined;
  const nextPlace = sealedPlaces[sealedPlaces.indexOf(place) + 1];
  done.nextCursor =
    last !== undefined ? `${place}/${last}` : nextPlace === undefined ? null : `${nextPlace}/`;
  if (values.length > 0)
    needs.log.info("secrets.resealed", { place, count: done.resealed, unreadable: done.unreadable.length });
  return done;
};

const positionOf = (cursor: string): { place: SealedPlace; after: string } => {
  const [name, after] = cursor.split("/");
  const place = sealedPlaces.find((one) => one === name);
  if (place === undefined || after === undefined)
    throw invalid([{ path: "cursor", message: "is not a cursor of this route" }]);
  return { place, after };
};

/** Whether it was replaced; it is left where it has changed meanwhile. */
const resealOne = async (
  { seal, store }: Needs,
  place: SealedPlace,
  { id, sealed: was }: { id: string; sealed: Uint8Array },
): Promise<boolean | CannotOpen> => {
  const context = place === "secrets" ? secretContext(id) : id;
  try {
    const sealed = await seal.seal(await seal.open(was, context), context);
    return await store.sealedValues.replace(place, { id, was, sealed });
  } catch (error) {
    if (error instanceof CannotOpen) return error;
    throw error;
  }
};
