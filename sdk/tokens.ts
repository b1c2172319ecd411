import type { MadeTokenView, TokenScope, TokenView } from "#shared/api/token.ts";
import { onlyOnce, type Client } from "./client.ts";
import type { Answer } from "./failure.ts";

export type NewToken = {
  name: string;
  role: TokenView["role"];
  scope: TokenScope;
  expiresAt?: string | undefined;
};

/** Makes a token; it is in this answer only. */
export const createToken = (client: Client, token: NewToken): Promise<Answer<MadeTokenView>> =>
  client.request("POST", "/v1/tokens", { body: token, headers: onlyOnce() });

/** Revokes a token at once. */
export const revokeToken = (client: Client, id: string): Promise<Answer<undefined>> =>
  client.request("DELETE", `/v1/tokens/${encodeURIComponent(id)}`);
