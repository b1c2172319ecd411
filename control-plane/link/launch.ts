import * as z from "zod";
import type { Launch } from "#shared/link/launch.ts";
import type { Seal } from "../needs.ts";
import type { ProcessRow } from "../store/store.ts";

const sealedPart = z.object({ env: z.record(z.string(), z.string()), stdinText: z.string().optional() });

/** The whole launch of a stored start: its row, with env and stdin text out of the sealed part. */
export async function completeLaunch(
  seal: Seal,
  row: ProcessRow,
  sealed: Uint8Array | null,
): Promise<Launch> {
  if (sealed === null) return row.launch;
  const { env, stdinText } = sealedPart.parse(JSON.parse(await seal.open(sealed, row.id)));
  return { ...row.launch, env, stdin: stdinText === undefined ? row.launch.stdin : { text: stdinText } };
}
