import { roles, type Role } from "#shared/api/token.ts";
import { fromBase64, toBase64 } from "#shared/base64.ts";
import { DroverError } from "#shared/errors.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import type { IdentityProvider, Needs, OidcSettings, Pending, Seal } from "../needs.ts";
import { beginSession, type SignedIn } from "./begin-session.ts";

/** A sign-in at the provider has to be through by then. */
export const pendingMs = 600_000;
const sealedFor = "oidc sign-in";

type Began = { url: string; sealed: string };

/** Where to send a browser that wants to sign in by the provider, and what it has to bring back. */
export const beginByProvider = async (needs: Needs, redirectUri: string): Promise<Began> => {
  const { url, pending } = await providerOf(needs).begin(redirectUri);
  const kept: Kept = { ...pending, until: needs.now().getTime() + pendingMs };
  return { url, sealed: toBase64(await needs.seal.seal(JSON.stringify(kept), sealedFor)) };
};

type Kept = Pending & { until: number };
type Back = { callback: URL; sealed: string | undefined; redirectUri: string };

/** Begins a session for whom the provider knows, with the highest role of the groups; what that is was settled by then. */
export const signInByProvider = async (
  needs: Needs,
  { callback, sealed, redirectUri }: Back,
): Promise<SignedIn> => {
  const provider = providerOf(needs);
  const pending = await opened(needs, sealed);
  const found = await provider.finish(callback, pending, redirectUri);
  if (found.outcome === "refused")
    throw new DroverError("unauthorized", `the identity provider lets nobody in here: ${found.reason}`);
  const { issuer, subject, name, groups } = found.person;
  const role = highestOf(groups, needs.config.signIn.oidc?.roles ?? {});
  if (role === undefined) {
    needs.log.warn("session.refused", { name, groups });
    throw new DroverError(
      "forbidden",
      `${name} is in no group that may use Drover: DROVER_OIDC_ROLES says which group has which role`,
    );
  }
  const tokenHash = await sha256Hex(JSON.stringify([issuer, subject]));
  const who = { kind: "person", tokenId: null, name, role, scope: {}, expiresAt: null, tokenHash } as const;
  return beginSession(needs, who, { name, role });
};

const providerOf = ({ provider }: Needs): IdentityProvider => {
  if (provider === undefined)
    throw new DroverError(
      "not_supported",
      "there is no identity provider here: DROVER_OIDC_ISSUER names one",
    );
  return provider;
};

// A cookie that is missing, was sealed elsewhere or is old.
const opened = async ({ seal, now }: Needs, sealed: string | undefined): Promise<Kept> => {
  const kept = await read(seal, sealed ?? "").catch(() => undefined);
  if (kept !== undefined && kept.until > now().getTime()) return kept;
  throw new DroverError(
    "unauthorized",
    "this sign-in did not begin in this browser, or began more than 10 minutes ago: begin again at /v1/session/oidc",
  );
};

const read = async (seal: Seal, sealed: string): Promise<Kept> =>
  JSON.parse(await seal.open(fromBase64(sealed), sealedFor)) as Kept;

const highestOf = (groups: string[], byGroup: OidcSettings["roles"]): Role | undefined =>
  roles.toReversed().find((role) => [...groups, "*"].some((group) => byGroup[group] === role));
