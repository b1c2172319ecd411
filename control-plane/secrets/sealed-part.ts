import * as z from "zod";
import { secretRef } from "#shared/api/secret.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { Seal } from "../needs.ts";

/** What of a start is never stored in the open: its env, in which secrets are named and not held, and its stdin text. */
const sealedPart = z.object({
  env: z.record(z.string(), z.union([z.string(), secretRef])),
  stdinText: z.string().optional(),
});
export type SealedPart = z.output<typeof sealedPart>;
export type EnvWithSecrets = SealedPart["env"];

/** Seals it for the row `owner`; null when there is nothing. */
export const sealPart = async (
  seal: Seal,
  owner: string,
  { env, stdin }: { env: EnvWithSecrets; stdin: Launch["stdin"] },
): Promise<Uint8Array | null> => {
  const stdinText = typeof stdin === "object" ? stdin.text : undefined;
  if (stdinText === undefined && Object.keys(env).length === 0) return null;
  return seal.seal(JSON.stringify({ env, stdinText }), owner);
};

/** Opens what was sealed for `owner`; rejects when its key is not set any more. */
export const openPart = async (seal: Seal, owner: string, sealed: Uint8Array): Promise<SealedPart> =>
  sealedPart.parse(JSON.parse(await seal.open(sealed, owner)));
