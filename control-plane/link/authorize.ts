import { isId } from "#shared/ids.ts";
import { sameText } from "#shared/secret-text.ts";
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
  return expected !== undefined && sameText(given, expected) ? nodeId : undefined;
}

/** The digest of a text; at once where the runtime can, since a fleet that comes back asks for thousands. */
export type Sha256Hex = (text: string) => string | Promise<string>;
