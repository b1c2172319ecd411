// Signing in by an OpenID provider: the authorization code flow with PKCE. `begin` sends the browser there with a state, a nonce
// and the digest of a verifier, which the browser keeps meanwhile in a sealed cookie; `finish` asks the provider what the code that
// came back is worth, and believes an ID token that the provider signed, for us, for this very sign-in.

import * as oauth from "oauth4webapi";
import { DroverError } from "#shared/errors.ts";
import type { IdentityProvider, OidcSettings, Pending, Person } from "../needs.ts";

const answerMs = 10_000;
/** A provider that changes its addresses or keys is found again after this time. */
const metadataMs = 3_600_000;

type Metadata = { at: number; server: oauth.AuthorizationServer };

export const openProvider = (settings: OidcSettings, nowMs = (): number => Date.now()): IdentityProvider => {
  const issuer = new URL(settings.issuer);
  const client: oauth.Client = { client_id: settings.clientId };
  // Values only, no promise: on Workers one of another request would be dead.
  let known: Metadata | undefined;

  const metadata = async (): Promise<oauth.AuthorizationServer> => {
    if (known !== undefined && nowMs() - known.at < metadataMs) return known.server;
    const options = { algorithm: "oidc" as const, ...optionsFor(issuer) };
    const answer = await oauth.discoveryRequest(issuer, options);
    const server = await oauth.processDiscoveryResponse(issuer, answer);
    known = { at: nowMs(), server };
    return server;
  };

  return {
    begin: (redirectUri) => reaching(issuer, async () => begin(await metadata(), settings, redirectUri)),
    finish: (callback, pending, redirectUri) =>
      reaching(issuer, async () => {
        const server = await metadata();
        try {
          const given = { server, client, settings, callback, pending, redirectUri };
          return { outcome: "known", person: await personOf(given) };
        } catch (error) {
          const reason = refusalOf(error);
          if (reason === undefined) throw error;
          return { outcome: "refused", reason };
        }
      }),
  };
};

// A provider on loopback is one for trying things; every other one has to be reached by https.
const optionsFor = (issuer: URL) => ({
  signal: AbortSignal.timeout(answerMs),
  [oauth.allowInsecureRequests]: issuer.protocol === "http:",
});

/** What is wrong with the provider itself is an outage to whoever signs in; the log has the cause. */
const reaching = async <T>(issuer: URL, ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new DroverError(
      "unavailable",
      `the identity provider ${issuer.origin} cannot be asked; sign in by a link or a token meanwhile`,
      { cause },
      error,
    );
  }
};

const begin = async (
  server: oauth.AuthorizationServer,
  { clientId, scope }: OidcSettings,
  redirectUri: string,
): Promise<{ url: string; pending: Pending }> => {
  if (server.authorization_endpoint === undefined)
    throw new Error("its description has no authorization_endpoint");
  const pending = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
  };
  const url = new URL(server.authorization_endpoint);
  const asked = {
    ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope },
    ...{ state: pending.state, nonce: pending.nonce },
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return { url: url.href, pending };
};

type Finishing = {
  server: oauth.AuthorizationServer;
  client: oauth.Client;
  settings: OidcSettings;
  callback: URL;
  pending: Pending;
  redirectUri: string;
};

const personOf = async (given: Finishing): Promise<Person> => {
  const { server, client, settings, callback, pending, redirectUri } = given;
  const options = optionsFor(new URL(settings.issuer));
  const code = oauth.validateAuthResponse(server, client, callback, pending.state);
  const proof = proofOf(server, settings.clientSecret);
  const answer = await oauth.authorizationCodeGrantRequest(
    ...([server, client, proof, code, redirectUri, pending.verifier, options] as const),
  );
  const checks = { expectedNonce: pending.nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, checks);
  await oauth.validateApplicationLevelSignature(server, answer, options);
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (claims === undefined) throw new Error("its answer has no ID token");
  const groups = claims[settings.groupsClaim];
  return {
    issuer: claims.iss,
    subject: claims.sub,
    name: nameOf(claims),
    groups: [groups].flat().filter((group) => typeof group === "string"),
  };
};

const proofOf = (
  { token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer,
  secret: string | undefined,
): oauth.ClientAuth => {
  if (secret === undefined) return oauth.None();
  const takesBasic = methods === undefined || methods.includes("client_secret_basic");
  return takesBasic ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
};

const maxNameLength = 200;

const nameOf = (claims: oauth.IDToken): string => {
  const names = [claims["preferred_username"], claims["email"], claims["name"], claims.sub];
  const name = names.find((each) => typeof each === "string" && each.trim() !== "") as string;
  return name.slice(0, maxNameLength);
};

// What the provider says against this sign-in, or what is wrong with its answer to it; all else is an outage.
const refusalOf = (error: unknown): string | undefined => {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return `it says ${error.error}${error.error_description === undefined ? "" : ` (${error.error_description})`}`;
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return "it does not know this client: look at DROVER_OIDC_CLIENT_ID and DROVER_OIDC_CLIENT_SECRET";
  return error instanceof oauth.OperationProcessingError ? error.message : undefined;
};
