import * as z from "zod";
import type { Launch } from "#shared/link/launch.ts";
import type { Seal } from "../needs.ts";
import type { StartInHand } from "../store/store.ts";

const sealedPart = z.object({ env: z.record(z.string(), z.string()), stdinText: z.string().optional() });

/** The whole launch of a stored start: its row, with env and stdin text out of the sealed part. */
export async function completeLaunch(
  seal: Seal,
  { id, launch, sealed }: Pick<StartInHand, "id" | "launch" | "sealed">,
): Promise<Launch> {
  if (sealed === null) return launch;
  const { env, stdinText } = sealedPart.parse(JSON.parse(await seal.open(sealed, id)));
  return { ...launch, env, stdin: stdinText === undefined ? launch.stdin : { text: stdinText } };
}
