import type { StartProcessBody } from "#shared/api/process.ts";
import type { Needs } from "../needs.ts";

/** Keyed digest of what a start asks for: the same for the same input, in whatever order it was written. */
export const inputDigests = async (
  { seal }: Pick<Needs, "seal">,
  body: StartProcessBody,
): Promise<{ digest: string; olderDigests: string[] }> => {
  // The key and its scope (the node) say which process is meant, not what it is.
  const { key: _key, node: _node, chatId: _chatId, ...input } = body;
  const text = JSON.stringify(sorted(input));
  return { digest: await seal.digest(text), olderDigests: await seal.olderDigests(text) };
};

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, held]) => [name, sorted(held)]),
  );
};
