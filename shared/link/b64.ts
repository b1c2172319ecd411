import * as z from "zod";

/**
 * Bytes as base64, padded. By a pattern and the length, and not by decoding: it is looked at for every chunk of output at both
 * ends. What passes can be decoded.
 */
export const b64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, "must be base64")
  .refine((text) => text.length % 4 === 0, "must be base64, padded");
