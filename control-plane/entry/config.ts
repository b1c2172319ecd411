import { sha256Hex } from "#shared/secret-text.ts";
import type { Config, Log } from "../needs.ts";
import type { Settings } from "./settings.ts";

const retentionMs = 30 * 24 * 3600 * 1000;

type Given = Pick<Settings, "publicUrl" | "nodeGoneMs" | "auditRetentionMs" | "signIn" | "limits"> & {
  adminToken: string;
  version: string;
};

/** The configuration that a control plane keeps; from now on its log hides the token. */
export const configWith = async (
  { adminToken, publicUrl, nodeGoneMs, auditRetentionMs, signIn, limits, version }: Given,
  log: Log,
): Promise<Config> => {
  log.hide(adminToken, "always");
  if (signIn.oidc?.clientSecret !== undefined) log.hide(signIn.oidc.clientSecret, "always");
  return {
    adminTokenHash: await sha256Hex(adminToken),
    publicUrl: publicUrl ?? "",
    version,
    retentionMs,
    nodeGoneMs,
    signIn,
    limits,
    auditRetentionMs,
  };
};
