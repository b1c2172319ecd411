import * as z from "zod";
import { plainText, timestamp } from "./common.ts";

/** What is shorter would hide half of every output. */
export const leastSecretBytes = 8;
const mostSecretBytes = 48 * 1024;

/** The name of a secret. */
export const secretName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "a name has 1 to 128 letters, digits, '.', '_' or '-' and starts with a letter or digit",
  );

/** In an environment: the value of this secret at the moment when the process is started. */
export const secretRef = z.strictObject({ secret: secretName });
export type SecretRef = z.infer<typeof secretRef>;

/** The body of `POST /v1/secrets`. Line breaks do not count: they are shown as they are. */
export const secretBody = z.strictObject({
  name: secretName,
  value: plainText(mostSecretBytes)
    .refine(
      (value) => new TextEncoder().encode(value.replace(/[\r\n]/g, "")).length >= leastSecretBytes,
      `must have at least ${leastSecretBytes} bytes besides line breaks, or it could not be hidden in what processes write`,
    )
    .refine((value) => value.trim() !== "", "must not be blank"),
});
export type SecretBody = z.infer<typeof secretBody>;

/** A secret as it is answered: never with its value. */
export const secretView = z.object({ name: z.string(), createdAt: timestamp, updatedAt: timestamp });
export type SecretView = z.infer<typeof secretView>;

/** `POST /v1/secret-key/reseal`: one batch; the next one goes on from `nextCursor`. */
export const resealBody = z.strictObject({ cursor: z.string().max(300).optional() });
export const resealed = z.object({
  /** Of the key that seals now: 8 hex digits that say nothing of it. */
  keyId: z.string(),
  resealed: z.int(),
  /** What no key opens that is set; it stays as it is. */
  unreadable: z.array(
    z.object({
      kind: z.enum(["process", "fanout", "secret"]),
      id: z.string(),
      keyId: z.string().nullable(),
    }),
  ),
  nextCursor: z.string().nullable(),
});
export type Resealed = z.infer<typeof resealed>;
