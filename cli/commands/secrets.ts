import type { Command } from "commander";
import type { SecretView } from "#shared/api/secret.ts";
import { connect, withConnection } from "../connection.ts";
import { listAll } from "../list-all.ts";
import { age, printJson, printTable, wantsJson, withShape } from "../print.ts";
import type { Verb } from "../verb.ts";

const help = `
Examples:
  printf %s "$TOKEN" | drover secrets set deploy-token
  drover secrets set tls-key key.pem
  drover run -n web-1 --secret TOKEN=deploy-token -c './deploy'

A value is never shown again: not here, and with stars in what processes write.`;

export const verb: Verb = {
  define: (command) => withShape(withConnection(command)).addHelpText("after", help),
  run,
  verbs: {
    ls: { summary: "list the secrets", load: () => import("./secrets/ls.ts") },
    set: { summary: "store a secret, or replace its value", load: () => import("./secrets/set.ts") },
    rm: { summary: "delete secrets", load: () => import("./secrets/rm.ts") },
    reseal: {
      summary: "seal everything with the current secret key",
      load: () => import("./secrets/reseal.ts"),
    },
  },
};

async function run(command: Command): Promise<number> {
  const secrets = await listAll<SecretView>(await connect(command), "/v1/secrets", {});
  if (wantsJson(command)) await printJson(secrets);
  else await printTable(columns(Date.now()), secrets);
  return 0;
}

const columns = (now: number) => [
  { title: "NAME", cell: ({ name }: SecretView) => name },
  { title: "SET", cell: ({ updatedAt }: SecretView) => age(updatedAt, now) },
  { title: "AGE", cell: ({ createdAt }: SecretView) => age(createdAt, now) },
];
