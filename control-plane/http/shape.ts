import type { z } from "zod";
import { invalid, type Issue } from "#shared/errors.ts";

const maxIssues = 50;
const maxPathLength = 200;

type Where = "body" | "query";
type RawIssue = z.core.$ZodIssue;

/** Parses a value by its schema, or throws `invalid_request` naming each wrong field. Input values are never echoed. */
export const parseShape = <S extends z.ZodType>(schema: S, value: unknown, where: Where): z.output<S> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(issuesOf(parsed.error.issues, where).slice(0, maxIssues));
};

const issuesOf = (issues: readonly RawIssue[], where: Where): Issue[] =>
  issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? unknownFields(issue, where)
      : [{ path: pathText(issue.path, where), message: messageOf(issue) }],
  );

const unknownFields = (issue: Extract<RawIssue, { code: "unrecognized_keys" }>, where: Where): Issue[] =>
  issue.keys.map((key) => ({
    path: pathText([...issue.path, key], where),
    message: where === "query" ? "unknown parameter" : "unknown field",
  }));

const pathText = (path: readonly PropertyKey[], where: Where): string => {
  const text = path.reduce<string>(
    (so, part) =>
      typeof part === "number" ? `${so}[${part}]` : so === "" ? String(part) : `${so}.${String(part)}`,
    "",
  );
  return text === "" ? where : text.slice(0, maxPathLength);
};

const messageOf = (issue: RawIssue): string => {
  if (issue.code === "invalid_key") return issue.issues.map(messageOf).join(", ");
  if (issue.code === "invalid_union") return alternatives(issue.errors);
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) return "is required";
  if (issue.code === "invalid_type" && issue.message.endsWith("received NaN")) return "must be a number";
  return issue.message;
};

const alternatives = (branches: readonly (readonly RawIssue[])[]): string => {
  const messages = branches.map((issues) =>
    issues
      .map((issue) => (issue.path.length === 0 ? "" : `${pathText(issue.path, "body")}: `) + messageOf(issue))
      .join(", "),
  );
  return messages.length === 0 ? "is not valid" : [...new Set(messages)].join(" or ");
};
