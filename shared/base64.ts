const sliceBytes = 0x8000;

/** Bytes as base64; works the same on every runtime. */
export const toBase64 = (bytes: Uint8Array): string => {
  let binary = "";
  // In slices, because arguments of one call are bounded.
  for (let at = 0; at < bytes.length; at += sliceBytes)
    binary += String.fromCharCode(...bytes.subarray(at, at + sliceBytes));
  return btoa(binary);
};

/** The bytes of a base64 text that was validated before. */
export const fromBase64 = (text: string): Uint8Array => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
};
