import type { SignInLinkView } from "#shared/api/session.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./failure.ts";

/** Makes a link that signs one browser in as the token of this client, once, within 10 minutes. */
export const createSignInLink = (client: Client): Promise<Answer<SignInLinkView>> =>
  client.request("POST", "/v1/session-codes");
