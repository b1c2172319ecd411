import type { Command } from "commander";
import type { Resealed } from "#shared/api/secret.ts";
import { resealBatch } from "../../../sdk/secrets.ts";
import { connect, valueOf, withConnection } from "../../connection.ts";
import type { Verb } from "../../verb.ts";
import { say, tell } from "../../write.ts";

const help = `
For a secret key that is being replaced: when it says that everything is sealed with the current key, the former one can be
taken out of DROVER_SECRET_KEY (docs/secrets.md). It may be run at any time, and again.`;

export const verb: Verb = {
  define: (command) => withConnection(command).addHelpText("after", help),
  run,
};

async function run(command: Command): Promise<number> {
  const client = await connect(command);
  const unreadable: Resealed["unreadable"] = [];
  let count = 0;
  for (let cursor: string | undefined; ;) {
    const batch: Resealed = valueOf(await resealBatch(client, cursor));
    count += batch.resealed;
    unreadable.push(...batch.unreadable);
    if (batch.nextCursor === null) return conclude({ ...batch, resealed: count, unreadable });
    cursor = batch.nextCursor;
  }
}

async function conclude({ resealed, unreadable, keyId }: Resealed): Promise<number> {
  for (const { kind, id, keyId: missing } of unreadable)
    await tell(`${kind} ${id}: cannot be opened, its key ${missing ?? "(unknown)"} is not set`);
  const rest = unreadable.length === 0 ? "everything" : "the rest";
  await say(`${resealed} sealed anew; ${rest} is sealed with the key ${keyId}`);
  return unreadable.length === 0 ? 0 : 1;
}
