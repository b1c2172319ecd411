import { withConnection } from "../connection.ts";
import { withShape } from "../print.ts";
import type { Verb } from "../verb.ts";
import { listTokens } from "./token/ls.ts";

const help = `
Examples:
  drover token create ci --role operator -l env=ci --ttl 90d
  drover token ls
  drover token rm tok_01k…

A viewer reads, an operator also runs, an admin also rules. What a token may do: docs/access.md.`;

export const verb: Verb = {
  define: (command) => withShape(withConnection(command)).addHelpText("after", help),
  run: listTokens,
  verbs: {
    create: { summary: "make a token; it is shown once", load: () => import("./token/create.ts") },
    ls: { summary: "list tokens", load: () => import("./token/ls.ts") },
    rm: { summary: "revoke tokens at once", load: () => import("./token/rm.ts") },
  },
};
