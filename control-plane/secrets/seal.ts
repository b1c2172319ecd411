import type { Seal } from "../needs.ts";

/**
 * How secrets lie in the database. One key seals, the current one; those that sealed before it still open.
 *
 *   2 | key id (4 bytes) | nonce (12 bytes) | AES-256-GCM over the text
 *   1 |                    nonce            | the same, from before keys had an id: every key is tried
 *
 * The context is authenticated with it, so a row's secret cannot be moved to another row. The id and the keys come from
 * DROVER_SECRET_KEY by HKDF; the id says nothing of the key. A value that cannot be opened says why, with the id of its key.
 */
const version = 2;
const versionWithoutId = 1;
const idBytes = 4;
const nonceBytes = 12;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

type Key = { id: Uint8Array; sealing: CryptoKey; digesting: CryptoKey };
type Bytes = Uint8Array<ArrayBuffer>;

/** What was sealed cannot be opened; `keyId` is that of the key that sealed it, null where it does not say which. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
  readonly keyId: string | null;

  constructor(keyId: string | null, why: string) {
    super(why);
    this.keyId = keyId;
  }
}

const keyMissing = (keyId: string | null): CannotOpen =>
  new CannotOpen(
    keyId,
    `it was sealed with ${keyId === null ? "a key" : `the key ${keyId},`} that is not set any more: give it in DROVER_SECRET_KEY behind the current one`,
  );

/** Seals with the first secret of 32 bytes, opens with all of them. */
export const sealWith = async (secret: Bytes, ...older: Bytes[]): Promise<Seal> => {
  const current = await keyOf(secret);
  const former = await Promise.all(older.map(keyOf));
  const keys = [current, ...former];
  return {
    keyId: hex(current.id),
    mark: Uint8Array.of(version, ...current.id),
    seal: (text, context) => encrypt(current, text, context),
    open: (sealed, context) => open(keys, sealed, context),
    digest: (text) => digest(current, text),
    olderDigests: (text) => Promise.all(former.map((key) => digest(key, text))),
  };
};

const keyOf = async (secret: Bytes): Promise<Key> => {
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey", "deriveBits"]);
  const from = (info: string) => ({
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(0),
    info: encoder.encode(info),
  });
  const cipher = { name: "AES-GCM", length: 256 };
  const mac = { name: "HMAC", hash: "SHA-256", length: 256 };
  return {
    id: new Uint8Array(await crypto.subtle.deriveBits(from("drover key id"), root, 8 * idBytes)),
    sealing: await crypto.subtle.deriveKey(from("drover seal"), root, cipher, false, ["encrypt", "decrypt"]),
    digesting: await crypto.subtle.deriveKey(from("drover digest"), root, mac, false, ["sign"]),
  };
};

const digest = async ({ digesting }: Key, text: string): Promise<string> =>
  hex(new Uint8Array(await crypto.subtle.sign("HMAC", digesting, encoder.encode(text))));

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const encrypt = async ({ id, sealing }: Key, text: string, context: string): Promise<Uint8Array> => {
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const params = { name: "AES-GCM", iv, additionalData: encoder.encode(context) };
  const body = new Uint8Array(await crypto.subtle.encrypt(params, sealing, encoder.encode(text)));
  const sealed = new Uint8Array(1 + idBytes + nonceBytes + body.length);
  sealed.set([version, ...id, ...iv]);
  sealed.set(body, 1 + idBytes + nonceBytes);
  return sealed;
};

const open = async (keys: Key[], sealed: Uint8Array, context: string): Promise<string> => {
  if (sealed[0] === versionWithoutId) return openWithAny(keys, new Uint8Array(sealed.subarray(1)), context);
  const id = hex(sealed.subarray(1, 1 + idBytes));
  if (sealed[0] !== version) throw new CannotOpen(null, "it was sealed by another version of Drover");
  const key = keys.find((one) => hex(one.id) === id);
  if (key === undefined) throw keyMissing(id);
  const text = await decrypt(key, new Uint8Array(sealed.subarray(1 + idBytes)), context);
  if (text === undefined)
    throw new CannotOpen(id, "it was changed since it was sealed, or belongs elsewhere");
  return text;
};

const openWithAny = async (keys: Key[], bytes: Bytes, context: string): Promise<string> => {
  for (const key of keys) {
    const text = await decrypt(key, bytes, context);
    if (text !== undefined) return text;
  }
  throw keyMissing(null);
};

/** Undefined with the wrong key, and where text or context are not those that were sealed: they are not told apart. */
const decrypt = async ({ sealing }: Key, bytes: Bytes, context: string): Promise<string | undefined> => {
  const iv = bytes.subarray(0, nonceBytes);
  const params = { name: "AES-GCM", iv, additionalData: encoder.encode(context) };
  try {
    return decoder.decode(await crypto.subtle.decrypt(params, sealing, bytes.subarray(nonceBytes)));
  } catch {
    // It fails for no other reason.
    return undefined;
  }
};
