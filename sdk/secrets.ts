import type { Resealed, SecretView } from "#shared/api/secret.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./failure.ts";

/** Stores a named secret, or replaces its value (API reference: `POST /v1/secrets`). */
export const setSecret = (
  client: Client,
  secret: { name: string; value: string },
): Promise<Answer<SecretView>> => client.request("POST", "/v1/secrets", { body: secret });

/** Deletes a named secret; what was started with it keeps its value. */
export const deleteSecret = (client: Client, name: string): Promise<Answer<undefined>> =>
  client.request("DELETE", `/v1/secrets/${encodeURIComponent(name)}`);

/** Seals a batch of what is stored with the current secret key; go on from `nextCursor` until it is null. */
export const resealBatch = (client: Client, cursor: string | undefined): Promise<Answer<Resealed>> =>
  client.request("POST", "/v1/secret-key/reseal", { body: { cursor } });
