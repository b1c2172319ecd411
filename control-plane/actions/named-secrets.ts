import type { SecretBody } from "#shared/api/secret.ts";
import { DroverError } from "#shared/errors.ts";
import { secretContext } from "../secrets/resolve-env.ts";
import type { Needs } from "../needs.ts";
import type { SecretRow } from "../store/store.ts";

/** Stores a secret or replaces its value. What runs keeps the value that it was started with. */
export const setSecret = async (
  needs: Needs,
  { name, value }: SecretBody,
): Promise<{ row: SecretRow; created: boolean }> => {
  needs.log.hide(value);
  const sealed = await needs.seal.seal(value, secretContext(name));
  const stored = await needs.store.secrets.set({ name, sealed, now: needs.now() });
  needs.log.info(stored.created ? "secret.created" : "secret.replaced", { name });
  return stored;
};

/** One page of the secrets, by name. */
export const listSecrets = async (
  needs: Needs,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ rows: SecretRow[]; more: boolean }> => {
  const rows = await needs.store.secrets.list({ limit: limit + 1, after: cursor });
  return { rows: rows.slice(0, limit), more: rows.length > limit };
};

/** Deletes a secret. Starts that wait for it end as `failed`/`secret_not_found` when their turn comes. */
export const deleteSecret = async (needs: Needs, name: string): Promise<void> => {
  if (!(await needs.store.secrets.delete(name)))
    throw new DroverError("not_found", "there is no secret of this name");
  needs.log.info("secret.deleted", { name });
};
