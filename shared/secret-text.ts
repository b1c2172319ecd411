const encoder = new TextEncoder();

/** SHA-256 of a token or key in hex: secrets are compared and stored by it, never as they are. */
export const sha256Hex = async (secret: string): Promise<string> => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(secret)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** Compares in a time that depends on what was sent only, not on where the first difference is. */
export const sameText = (sent: string, known: string): boolean => {
  let difference = sent.length ^ known.length;
  for (let at = 0; at < sent.length; at++) difference |= sent.charCodeAt(at) ^ known.charCodeAt(at);
  return difference === 0;
};

/** 256 random bits as text behind a prefix that says what it is. */
export const newSecret = (prefix: string): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const text = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  return `${prefix}_${text}`;
};

// Tokens of Drover, and whatever follows "Bearer".
const tokenLooks = /\b(drv[a-z]_)[A-Za-z0-9_-]{16,}|(\bBearer )\S+/g;

/** The text with stars for what looks like a token of Drover, or is sent as one. */
export const withoutTokens = (text: string): string =>
  text.replace(tokenLooks, (_all, prefix?: string, bearer?: string) => `${prefix ?? bearer ?? ""}***`);
