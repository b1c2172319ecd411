const encoder = new TextEncoder();

/** SHA-256 of a token or key in hex: tokens are compared and stored by it, never as they are. */
export const tokenHash = async (token: string): Promise<string> => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(token)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
};
