import * as z from "zod";
import { ruleNames } from "../guard/rules.ts";
import { wallLimits } from "./walls.ts";
import { byteLength, limitMs, maxEntryBytes, maxTextBytes, plainText } from "./common.ts";

const maxEntries = 1000;

const rule = z.enum(ruleNames, `must be one of the rules: ${ruleNames.join(", ")}`);
const program = plainText(255).refine(
  (name) => /^[^\s/]+$/.test(name),
  "must be the name of one program without its path; * and ? stand for any characters",
);
export const policyRoot = plainText(4096).refine(
  (path) => path.startsWith("/") && !/(?:^|\/)\.\.?(?:\/|$)/.test(path),
  "must be an absolute path without . and ..",
);

/** The most that a start may ask for, and what holds where it asks for nothing. */
const policyLimits = z.strictObject({
  timeoutMs: limitMs.optional(),
  idleTimeoutMs: limitMs.optional(),
  outputBytes: z
    .int()
    .min(1)
    .max(2 ** 50)
    .optional(),
  ...wallLimits,
});
export type PolicyLimits = z.infer<typeof policyLimits>;

/** What may be started: of the whole fleet, and on one node in its file. What is not said is not restricted beyond the default rules. */
export const policy = z.strictObject({
  /** Rules of the guard that are not held here. */
  allowRules: z.array(rule).max(maxEntries).default([]),
  /** Programs that no command may name. */
  refusePrograms: z.array(program).max(maxEntries).default([]),
  /** The only programs that a command may name; a text that cannot be read whole is refused then. */
  allowPrograms: z.array(program).max(maxEntries).optional(),
  /** The folders in or below which commands start. */
  roots: z.array(policyRoot).min(1).max(maxEntries).optional(),
  /** The users that a start may name. Not said: of the fleet any that the node's own policy lists, on a node none but the agent's. */
  users: z.array(plainText(256)).max(maxEntries).optional(),
  /** Nothing is started; what ran can be read. */
  readOnly: z.boolean().default(false),
  limits: policyLimits.prefault({}),
});
export type Policy = z.infer<typeof policy>;

/** The policy where nobody has given one: the default rules, and nothing else. */
export const defaultPolicy: Policy = policy.parse({});

export const policyView = z.object({
  policy,
  /** When it was given; null where nobody has given one. */
  updatedAt: z.iso.datetime().nullable(),
  /** Every rule that `allowRules` may name. */
  rules: z.array(z.string()),
});
export type PolicyView = z.infer<typeof policyView>;

/** A start that is only judged. The policy of a node is its own: it is not asked. */
export const tryPolicyBody = z
  .strictObject({
    command: plainText(maxTextBytes).optional(),
    argv: z.array(plainText(maxEntryBytes)).min(1).max(10_000).optional(),
    shell: plainText(4096).optional(),
    cwd: plainText(4096)
      .refine((path) => path.startsWith("/"), "must be an absolute path")
      .optional(),
    env: z.record(z.string().max(1024), plainText(maxTextBytes)).optional(),
    stdin: z.strictObject({ text: plainText(maxTextBytes) }).optional(),
    user: plainText(256).optional(),
    timeoutMs: limitMs.optional(),
    idleTimeoutMs: limitMs.optional(),
    limits: z.strictObject({ outputBytes: z.int().min(1).optional(), ...wallLimits }).optional(),
    /** Judged by this instead of the policy that holds: to see what a change would do. */
    policy: policy.optional(),
  })
  .refine((body) => (body.command === undefined) !== (body.argv === undefined), {
    path: ["command"],
    message: "give either command or argv",
  })
  .refine((body) => (body.argv ?? []).reduce((sum, word) => sum + byteLength(word) + 1, 0) <= maxTextBytes, {
    path: ["argv"],
    message: `must be at most ${maxTextBytes} bytes together`,
  });
export type TryPolicyBody = z.infer<typeof tryPolicyBody>;

/** What would become of a start. */
export const policyVerdict = z.union([
  z.object({ allowed: z.literal(true) }),
  z.object({ allowed: z.literal(false), rule: z.string(), reason: z.string(), advice: z.string() }),
]);
export type PolicyVerdict = z.infer<typeof policyVerdict>;
