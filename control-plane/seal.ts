import type { Seal } from "./needs.ts";

/**
 * A sealed text is one version byte, a random 12-byte nonce and AES-256-GCM over the text with the context as
 * additional data, so a row's secret cannot be moved to another row. Both keys come from DROVER_SECRET_KEY by HKDF.
 */
const version = 1;
const nonceBytes = 12;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Seals and digests with a secret of 32 bytes. */
export const sealWith = async (secret: Uint8Array<ArrayBuffer>): Promise<Seal> => {
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const from = (info: string) => ({
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(0),
    info: encoder.encode(info),
  });
  const cipher = { name: "AES-GCM", length: 256 };
  const mac = { name: "HMAC", hash: "SHA-256", length: 256 };
  const sealing = await crypto.subtle.deriveKey(from("drover seal"), root, cipher, false, [
    "encrypt",
    "decrypt",
  ]);
  const digesting = await crypto.subtle.deriveKey(from("drover digest"), root, mac, false, ["sign"]);
  return {
    seal: (text, context) => encrypt(sealing, text, context),
    open: (sealed, context) => decrypt(sealing, sealed, context),
    digest: async (text) => hex(await crypto.subtle.sign("HMAC", digesting, encoder.encode(text))),
  };
};

const encrypt = async (key: CryptoKey, text: string, context: string): Promise<Uint8Array> => {
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const params = { name: "AES-GCM", iv, additionalData: encoder.encode(context) };
  const body = new Uint8Array(await crypto.subtle.encrypt(params, key, encoder.encode(text)));
  const sealed = new Uint8Array(1 + nonceBytes + body.length);
  sealed[0] = version;
  sealed.set(iv, 1);
  sealed.set(body, 1 + nonceBytes);
  return sealed;
};

const decrypt = async (key: CryptoKey, sealed: Uint8Array, context: string): Promise<string> => {
  if (sealed[0] !== version) throw new Error("sealed with an unknown version");
  const bytes = new Uint8Array(sealed);
  const params = {
    name: "AES-GCM",
    iv: bytes.subarray(1, 1 + nonceBytes),
    additionalData: encoder.encode(context),
  };
  return decoder.decode(await crypto.subtle.decrypt(params, key, bytes.subarray(1 + nonceBytes)));
};
