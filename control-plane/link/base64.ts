/** The bytes of a base64 text (validated before). */
export function bytesOf(b64: string): Uint8Array {
  const characters = atob(b64);
  const bytes = new Uint8Array(characters.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = characters.charCodeAt(index);
  return bytes;
}
