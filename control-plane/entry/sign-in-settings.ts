import { roles, type Role } from "#shared/api/token.ts";
import { parseDuration } from "#shared/duration.ts";
import type { OidcSettings, SignInConfig } from "../needs.ts";
import { SettingError } from "./setting-error.ts";

type Env = Record<string, string | undefined>;

/** How browsers sign in; an empty value counts as unset. */
export const signInFromEnv = (env: Env): SignInConfig => ({
  idleMs: sessionTime("DROVER_SESSION_IDLE", env["DROVER_SESSION_IDLE"] || "12h"),
  maxMs: sessionTime("DROVER_SESSION_MAX", env["DROVER_SESSION_MAX"] || "7d"),
  oidc: env["DROVER_OIDC_ISSUER"] ? oidcFromEnv(env["DROVER_OIDC_ISSUER"], env) : undefined,
});

// A use is remembered to a minute, and no browser keeps a cookie for longer than 400 days.
const leastSessionMs = 5 * 60_000;
const longestSessionMs = 400 * 86_400_000;

const sessionTime = (name: string, text: string): number => {
  const parsed = parseDuration(text);
  if (!parsed.ok || parsed.ms < leastSessionMs || parsed.ms > longestSessionMs)
    throw new SettingError(`${name} must be a duration from 5m to 400d, such as 12h`);
  return parsed.ms;
};

const oidcFromEnv = (issuer: string, env: Env): OidcSettings => ({
  issuer: issuerUrl(issuer),
  clientId: needed(env, "DROVER_OIDC_CLIENT_ID"),
  clientSecret: env["DROVER_OIDC_CLIENT_SECRET"] || undefined,
  scope: env["DROVER_OIDC_SCOPE"] || "openid profile email",
  groupsClaim: env["DROVER_OIDC_GROUPS_CLAIM"] || "groups",
  roles: rolesByGroup(needed(env, "DROVER_OIDC_ROLES")),
});

const needed = (env: Env, name: string): string => {
  const value = env[name];
  if (!value) throw new SettingError(`${name} must be set where DROVER_OIDC_ISSUER is`);
  return value;
};

// What the provider says is believed: it is not to be said by whoever sits in between. On loopback nobody does.
const issuerUrl = (text: string): string => {
  const isSafe = /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(text);
  if (!isSafe || !URL.canParse(text))
    throw new SettingError("DROVER_OIDC_ISSUER must be an https URL, such as https://login.example.org");
  return text;
};

const rolesByGroup = (text: string): Record<string, Role> =>
  Object.fromEntries(
    text.split(",").map((pair): [string, Role] => {
      const at = pair.lastIndexOf("=");
      const [group, name] = [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()];
      const role = roles.find((each) => each === name);
      if (group === "" || role === undefined)
        throw new SettingError(
          `DROVER_OIDC_ROLES must be a list like "admins=admin,developers=operator,*=viewer"`,
        );
      return [group, role];
    }),
  );
