import * as z from "zod";

/** 10 years: the longest limit that is accepted; every accepted limit is honoured. */
export const maxLimitMs = 10 * 365 * 24 * 3600 * 1000;
export const maxTextBytes = 1024 * 1024;
export const maxEntryBytes = 128 * 1024 - 1;
export const maxBodyBytes = 8 * 1024 * 1024;

const encoder = new TextEncoder();
/** Length in UTF-8 bytes. */
export const byteLength = (text: string): number =>
  text.length * 3 <= maxEntryBytes ? text.length : encoder.encode(text).length;

/** Text that a kernel, a database and a shell can all hold: no NUL, no lone surrogates, at most `maxBytes` of UTF-8. */
export const plainText = (maxBytes: number) =>
  z
    .string()
    .refine((text) => !text.includes("\0"), "must not contain a NUL character")
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
    .refine((text) => byteLength(text) <= maxBytes, `must be at most ${maxBytes} bytes`);

/** Milliseconds of a limit: whole, at least 1, at most 10 years. */
export const limitMs = z.int().min(1).max(maxLimitMs);
export const timestamp = z.iso.datetime();

const labelKey = z
  .string()
  .regex(
    /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/,
    "a label name has 1 to 63 letters, digits, '.', '_', '/' or '-'",
  );
/** Labels: at most 64 names with values of at most 255 characters. */
export const labels = z
  .record(
    labelKey,
    plainText(1024).refine((text) => [...text].length <= 255, "must be at most 255 characters"),
  )
  .refine((all) => Object.keys(all).length <= 64, "must be at most 64 labels");

/** The name of a node: what people type, so nothing that looks like an id or needs quoting. */
export const nodeName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    "a name has 1 to 63 letters, digits, '.', '_' or '-' and starts with a letter or digit",
  )
  .refine((name) => !name.startsWith("node_"), "must not start with node_");

/** How long a request looks before it answers with what is so far: 0…300000 ms, larger values are clamped. */
export const waitMsQuery = z.coerce
  .number()
  .int()
  .min(0)
  .transform((ms) => Math.min(ms, 300_000));

/** A page of a list: newest first unless said; `nextCursor` is null on the last page. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), nextCursor: z.string().nullable() });
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
};

/** The body of every failure (RFC 9457). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    requestId: z.string(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .loose();
