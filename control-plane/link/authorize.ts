import { isId } from "#shared/ids.ts";
import type { Nodes } from "../store/store.ts";

/**
 * Whose key an upgrade request carries (`Authorization: Bearer <nodeId>.<key>`): the node's id, or undefined for a 401.
 * Throws when the database does not answer.
 */
export async function authorizeAgent(
  { nodes, sha256Hex }: { nodes: Pick<Nodes, "keyHash">; sha256Hex: Sha256Hex },
  header: string | null | undefined,
): Promise<string | undefined> {
  const [, nodeId, key] = /^Bearer ([0-9a-z_]{1,40})\.(\S{1,256})$/i.exec(header ?? "") ?? [];
  if (nodeId === undefined || key === undefined || !isId("node", nodeId)) return undefined;
  const [expected, given] = await Promise.all([nodes.keyHash(nodeId), sha256Hex(key)]);
  return expected !== undefined && sameText(expected, given) ? nodeId : undefined;
}

/** The digest of a text; at once where the runtime can, since a fleet that comes back asks for thousands. */
export type Sha256Hex = (text: string) => string | Promise<string>;

export const sha256Hex: Sha256Hex = async (text) => {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** Compares without telling by its time where the first difference is. */
function sameText(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < right.length; index += 1)
    difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  return difference === 0;
}
