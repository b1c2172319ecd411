import type { Command } from "commander";
import type { TokenScope, TokenView } from "#shared/api/token.ts";
import { connect, withConnection } from "../../connection.ts";
import { listAll } from "../../list-all.ts";
import { age, printJson, printTable, short, wantsJson, withShape, type Column } from "../../print.ts";
import type { Verb } from "../../verb.ts";

export const verb: Verb = { define: (command) => withShape(withConnection(command)), run: listTokens };

/** Prints the tokens that this one may see, newest first. */
export async function listTokens(command: Command): Promise<number> {
  const tokens = await listAll<TokenView>(await connect(command), "/v1/tokens", {});
  if (wantsJson(command)) await printJson(tokens);
  else await printTable(columns(Date.now()), tokens);
  return 0;
}

const columns = (now: number): Column<TokenView>[] => [
  { title: "NAME", cell: ({ name }) => name },
  { title: "ROLE", cell: ({ role }) => role },
  { title: "USED", cell: ({ lastUsedAt }) => age(lastUsedAt, now) },
  {
    title: "EXPIRES",
    cell: (token) => end(token, now),
    paint: (token) => (end(token, now) === "expired" ? "red" : undefined),
  },
  { title: "ID", cell: ({ id }) => id },
  { title: "SCOPE", cell: ({ scope }) => scopeText(scope) },
];

const end = ({ expiresAt }: TokenView, now: number): string => {
  if (expiresAt === null) return "never";
  const leftMs = Date.parse(expiresAt) - now;
  return leftMs <= 0 ? "expired" : `in ${short(leftMs)}`;
};

const scopeText = ({ selector, chatId, tasks }: TokenScope): string =>
  [selector, chatId, ...(tasks ?? [])].filter((part) => part !== undefined).join(" ") || "everything";
