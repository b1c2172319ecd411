import * as z from "zod";
import { errorStatus } from "../errors.ts";
import { pageQuery, plainText, timestamp } from "./common.ts";

const codes = Object.keys(errorStatus);
const results = ["ok", "refused", "failed", ...codes];

/** The query of `GET /v1/audit`; all that is given must hold. */
export const auditQuery = z.strictObject({
  actor: plainText(200).optional().describe("the id or the name of who acted, such as tok_… or `admin`"),
  operation: plainText(100).optional().describe("an operationId of this description, such as startProcess"),
  object: plainText(200).optional().describe("the id of what it was about"),
  node: plainText(200).optional().describe("the id of a node, or the name that it has now"),
  result: z
    .string()
    .refine(
      (text) => results.includes(text),
      "must be ok, refused (4xx), failed (5xx) or the code of a failure",
    )
    .optional(),
  from: timestamp.optional().describe("not before"),
  to: timestamp.optional().describe("before"),
  format: z.enum(["json", "ndjson"]).optional().describe("ndjson: all that match, an entry a line"),
  ...pageQuery,
  limit: pageQuery.limit.unwrap().optional(),
});
export type AuditQuery = z.output<typeof auditQuery>;

/** One entry of the audit: who did what, where, and what came of it. */
export const auditView = z.object({
  id: z.string(),
  at: timestamp,
  actor: z.object({
    /** `root`: the admin token of the settings; `token`; `person`: by an identity provider, `id` is the session; `join_token`: an agent that enrolled; `nobody`: no identity. */
    kind: z.string(),
    id: z.string().nullable(),
    name: z.string(),
  }),
  /** Where the request came from, if the control plane knows. */
  address: z.string().nullable(),
  /** The operationId of the route. */
  operation: z.string(),
  object: z.object({ kind: z.string(), id: z.string().nullable() }),
  node: z.object({ id: z.string(), name: z.string().nullable() }).nullable(),
  /** What was asked for, without anything that may be secret; long texts are cut and end in `…`. */
  input: z.record(z.string(), z.unknown()),
  /** The HTTP status, and of a failure its code. */
  status: z.int(),
  code: z.string().nullable(),
  requestId: z.string(),
});
export type AuditView = z.infer<typeof auditView>;
