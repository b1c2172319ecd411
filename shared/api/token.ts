import * as z from "zod";
import { isId } from "../ids.ts";
import { parseSelector } from "../selector.ts";
import { plainText, timestamp } from "./common.ts";

/** From the least to the most: a viewer reads, an operator also runs, an admin also rules. */
export const roles = ["viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

const maxTasks = 100;

const selector = plainText(4096).superRefine((text, context) => {
  const parsed = parseSelector(text);
  if (!parsed.ok) context.addIssue({ code: "custom", message: parsed.error });
});

/**
 * What of the fleet a token is for; without any of these, all of it. With `chatId` or `tasks` it sees nothing but the chat
 * or these tasks, and what belongs to them.
 */
export const tokenScope = z.strictObject({
  /** Only nodes that match it now, and what runs there. */
  selector: selector.optional(),
  chatId: z
    .string()
    .refine((id) => isId("chat", id), "must be the id of a chat")
    .optional(),
  tasks: z
    .array(z.string().refine((id) => isId("task", id), "must be the id of a task"))
    .min(1)
    .max(maxTasks)
    .optional(),
});
export type TokenScope = z.infer<typeof tokenScope>;

/** The body of `POST /v1/tokens`. */
export const tokenBody = z.strictObject({
  name: plainText(200).refine((text) => text.trim() !== "", "must not be empty or blank"),
  role: z.enum(roles, `must be one of ${roles.join(", ")}`),
  scope: tokenScope.default({}),
  expiresAt: timestamp.optional(),
});
export type TokenBody = z.infer<typeof tokenBody>;

export const tokenView = z.object({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  scope: tokenScope,
  /** The token that made it; null: the admin token of the settings. */
  createdBy: z.string().nullable(),
  createdAt: timestamp,
  expiresAt: timestamp.nullable(),
  /** To some minutes. */
  lastUsedAt: timestamp.nullable(),
});
export type TokenView = z.infer<typeof tokenView>;

/** A token as its maker sees it: `token` this once; a repeat of the call has `secretShown: false` in its place. */
export const madeTokenView = tokenView.extend({
  token: z.string().optional(),
  secretShown: z.boolean().optional(),
});
export type MadeTokenView = z.infer<typeof madeTokenView>;
