import { describe, expect, it } from "vitest";
import { settingsFromEnv } from "../../../control-plane/entry/settings.ts";

const key = Buffer.alloc(32, 7).toString("base64");

describe("the settings of a control plane", () => {
  it("are loopback, port 4600 and an own database unless said otherwise", () => {
    expect(settingsFromEnv({ DROVER_DATA_DIR: "/data", DROVER_LOG: "json" })).toEqual({
      host: "127.0.0.1",
      port: 4600,
      dataDir: "/data",
      log: "json",
      maxQueued: 100_000,
      nodeGoneMs: 7 * 86_400_000,
      signIn: { idleMs: 43_200_000, maxMs: 7 * 86_400_000, oidc: undefined },
      auditRetentionMs: 365 * 86_400_000,
      limits: { requestsPerToken: 2000, requestsPerAddress: 200, failedPerMinute: 60, openPerToken: 5000 },
      trustedProxies: undefined,
      ...{ databaseUrl: undefined, adminToken: undefined, secretKeys: undefined, publicUrl: undefined },
    });
  });

  it("come from the environment, and flags win; an empty value counts as unset", () => {
    const env = {
      ...{ DROVER_HOST: "0.0.0.0", DROVER_PORT: "1", DATABASE_URL: "postgres://db/a", DROVER_DATA_DIR: "/a" },
      ...{ DROVER_ADMIN_TOKEN: "token", DROVER_SECRET_KEY: key, DROVER_PUBLIC_URL: "https://drover.test/" },
      ...{ DROVER_SESSION_IDLE: "30m", DROVER_SESSION_MAX: "1d" },
      ...{ DROVER_NODE_GONE_AFTER: "12h", DROVER_AUDIT_RETENTION: "90d" },
    };
    const flags = { host: "::1", port: "0", databaseUrl: "postgresql://db/b", dataDir: "/b" };
    expect(settingsFromEnv(env, flags)).toMatchObject({
      ...{ host: "::1", port: 0, databaseUrl: "postgresql://db/b", dataDir: "/b" },
      ...{ adminToken: "token", secretKeys: [new Uint8Array(32).fill(7)], publicUrl: "https://drover.test" },
      nodeGoneMs: 43_200_000,
      signIn: { idleMs: 1_800_000, maxMs: 86_400_000 },
      auditRetentionMs: 90 * 86_400_000,
    });
    const keys = ` ${key},${Buffer.alloc(32, 8).toString("base64")}\n${Buffer.alloc(32, 9).toString("base64")}`;
    expect(settingsFromEnv({ DROVER_SECRET_KEY: keys }).secretKeys).toEqual(
      [7, 8, 9].map((byte) => new Uint8Array(32).fill(byte)),
    );
    expect(settingsFromEnv({ DROVER_PORT: "", DATABASE_URL: "" })).toMatchObject({
      port: 4600,
      databaseUrl: undefined,
    });
  });

  it("name an identity provider, and the role of each group there", () => {
    const env = {
      DROVER_OIDC_ISSUER: "https://login.test/realm",
      DROVER_OIDC_CLIENT_ID: "drover",
      DROVER_OIDC_ROLES: "a=b=admin, devs=operator,*=viewer",
    };
    expect(settingsFromEnv(env).signIn.oidc).toEqual({
      ...{ issuer: "https://login.test/realm", clientId: "drover", clientSecret: undefined },
      ...{ scope: "openid profile email", groupsClaim: "groups" },
      roles: { "a=b": "admin", devs: "operator", "*": "viewer" },
    });
    const wrong = [
      { ...env, DROVER_OIDC_ISSUER: "http://login.test" },
      { ...env, DROVER_OIDC_ISSUER: "http://localhost.evil.example" },
      { ...env, DROVER_OIDC_CLIENT_ID: "" },
      { ...env, DROVER_OIDC_ROLES: "" },
      { ...env, DROVER_OIDC_ROLES: "devs=owner" },
      { ...env, DROVER_OIDC_ROLES: "admin" },
    ];
    for (const each of wrong) expect(() => settingsFromEnv(each)).toThrow(/^DROVER_OIDC_/);
  });

  it.each([
    ["DROVER_PORT", "http"],
    ["DROVER_PORT", "65536"],
    ["DROVER_PORT", "-1"],
    ["DATABASE_URL", "mysql://db/a"],
    ["DATABASE_URL", "localhost"],
    ["DROVER_SECRET_KEY", "c2hvcnQ="],
    ["DROVER_SECRET_KEY", "not base64!"],
    ["DROVER_SECRET_KEY", `${key},c2hvcnQ=`],
    ["DROVER_PUBLIC_URL", "drover.test"],
    ["DROVER_ADMIN_TOKEN", "two words"],
    ["DROVER_LOG", "loud"],
    ["DROVER_NODE_GONE_AFTER", "7"],
    ["DROVER_NODE_GONE_AFTER", "5m"],
    ["DROVER_NODE_GONE_AFTER", "4000d"],
    ["DROVER_SESSION_IDLE", "0"],
    ["DROVER_SESSION_IDLE", "1m"],
    ["DROVER_SESSION_MAX", "401d"],
    ["DROVER_REQUESTS_PER_TOKEN", "499"],
    ["DROVER_REQUESTS_PER_ADDRESS", "-1"],
    ["DROVER_FAILED_PER_MINUTE", "many"],
    ["DROVER_OPEN_PER_TOKEN", "1.5"],
    ["DROVER_AUDIT_RETENTION", "365"],
    ["DROVER_AUDIT_RETENTION", "23h"],
  ])("%s=%s is one line that names it and does not repeat it", (name, value) => {
    const thrown = () => settingsFromEnv({ [name]: value });
    expect(thrown).toThrow(
      expect.objectContaining({ name: "SettingError", message: expect.stringContaining(name) }),
    );
    expect(thrown).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/\n|two words|c2hvcnQ/) }),
    );
  });
});
