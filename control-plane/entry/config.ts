import { sha256Hex } from "#shared/secret-text.ts";
import type { Config } from "../needs.ts";
import type { MaskingLog } from "./log.ts";
import type { Settings } from "./settings.ts";

const retentionMs = 30 * 24 * 3600 * 1000;

type Given = Pick<Settings, "publicUrl" | "nodeGoneMs" | "auditRetentionMs" | "signIn"> & {
  adminToken: string;
  version: string;
};

/** The configuration that a control plane keeps; from now on its log hides the token. */
export const configWith = async (
  { adminToken, publicUrl, nodeGoneMs, auditRetentionMs, signIn, version }: Given,
  log: MaskingLog,
): Promise<Config> => {
  log.hide(adminToken);
  if (signIn.oidc?.clientSecret !== undefined) log.hide(signIn.oidc.clientSecret);
  return {
    adminTokenHash: await sha256Hex(adminToken),
    publicUrl: publicUrl ?? "",
    version,
    retentionMs,
    nodeGoneMs,
    signIn,
    auditRetentionMs,
  };
};
