import type { Context } from "hono";
import { maxBodyBytes } from "#shared/api/common.ts";
import { DroverError } from "#shared/errors.ts";
import type { AppEnv } from "./route.ts";

const tooLarge = (): DroverError =>
  new DroverError("payload_too_large", `the body must be at most ${maxBodyBytes} bytes`);

/** Reads the whole body as text: first its size is checked, also of a body without a declared length, then its type. */
export const readBodyText = async (c: Context<AppEnv>): Promise<string> => {
  const encoding = c.req.header("content-encoding") ?? "identity";
  if (encoding !== "identity")
    throw new DroverError("unsupported_media_type", "the body must be sent without a content encoding");
  const declared = Number(c.req.header("content-length"));
  if (declared > maxBodyBytes) throw tooLarge();
  const bytes = await readBytes(c).catch(brokenOff);
  if (bytes.length > 0) requireJsonType(c.req.header("content-type"));
  return decode(bytes);
};

// A declared length is enforced by HTTP itself, so such a body can be read in one go.
const readBytes = async (c: Context<AppEnv>): Promise<Uint8Array> =>
  c.req.header("content-length") === undefined
    ? readCapped(c.req.raw.body)
    : new Uint8Array(await c.req.raw.arrayBuffer());

/** The client left in the middle of it: nobody hears the answer, and it is no failure of ours. */
const brokenOff = (error: unknown): never => {
  if (error instanceof DroverError) throw error;
  throw new DroverError("invalid_request", "the body broke off before its end", {}, error);
};

const readCapped = async (body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    if (length > maxBodyBytes) throw tooLarge();
    pieces.push(piece);
  }
  return joined(pieces, length);
};

const joined = (pieces: Uint8Array[], length: number): Uint8Array => {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
};

const jsonType = /^application\/(json|[\w.+-]+\+json)\s*(;\s*charset="?utf-8"?\s*)?$/i;

const requireJsonType = (type: string | undefined): void => {
  if (type === undefined || !jsonType.test(type))
    throw new DroverError("unsupported_media_type", "the content type must be application/json in UTF-8");
};

const decode = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (error) {
    throw new DroverError(
      "invalid_request",
      "the body is not valid UTF-8",
      { issues: [{ path: "body", message: "must be UTF-8" }] },
      error,
    );
  }
};

/** Parses JSON; the parser's own message is not answered because it quotes the input. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DroverError(
      "invalid_request",
      "the body is not valid JSON",
      { issues: [{ path: "body", message: "must be JSON" }] },
      error,
    );
  }
};
