import * as z from "zod";
import type { StartProcessBody } from "#shared/api/process.ts";
import type { Seal } from "../needs.ts";

const secrets = z.object({ env: z.record(z.string(), z.string()), stdinText: z.string().optional() });

/** Seals what of a start is never stored in the open, env and stdin text, for the row `owner`; null when there is nothing. */
export const sealSecrets = async (
  seal: Seal,
  owner: string,
  { env, stdin }: { env: Record<string, string>; stdin: StartProcessBody["stdin"] },
): Promise<Uint8Array | null> => {
  const stdinText = typeof stdin === "object" ? stdin.text : undefined;
  if (stdinText === undefined && Object.keys(env).length === 0) return null;
  return seal.seal(JSON.stringify({ env, stdinText }), owner);
};

/** Opens what was sealed for `owner`; rejects when it was sealed with another secret key. */
export const openSecrets = async (
  seal: Seal,
  owner: string,
  sealed: Uint8Array,
): Promise<z.output<typeof secrets>> => secrets.parse(JSON.parse(await seal.open(sealed, owner)));
