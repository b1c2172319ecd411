import * as z from "zod";

/** Bytes as base64. By a pattern and not by decoding: it is looked at for every chunk of output at both ends. */
export const b64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, "must be base64");
