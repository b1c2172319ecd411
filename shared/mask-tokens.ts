// Tokens of Drover by their prefix, the key of a node behind its id, and whatever follows "Bearer".
const looks = /\b(drv[a-z]_)[A-Za-z0-9_-]{16,}|\b(node_[0-9a-z]+\.)[A-Za-z0-9_-]{16,}|(\bBearer )\S+/g;

/** The text with stars for what looks like a token. */
export const maskTokens = (text: string): string =>
  text.replace(
    looks,
    (_all, token?: string, key?: string, bearer?: string) => `${token ?? key ?? bearer ?? ""}***`,
  );
