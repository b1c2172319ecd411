import type { z } from "zod";
import { DroverError, invalid } from "#shared/errors.ts";
import type { Needs, RequestOutcome, RequestWithoutId } from "../needs.ts";

/** How long a node may take for an answer that needs no waiting. */
export const askTimeoutMs = 15_000;

export const nodeOffline = (): DroverError =>
  new DroverError("node_offline", "the node has no live connection");
export const noAnswer = (): DroverError =>
  new DroverError("unavailable", "the node did not answer, so what happened is not known");

/** What a refusal of a node means to the caller; `field` names what an invalid request was about. */
export const refusalError = (refusal: { code: string; message: string }, field: string): DroverError => {
  switch (refusal.code) {
    case "invalid_request":
      return invalid([{ path: field, message: refusal.message }]);
    case "not_found":
      return new DroverError("not_found", "the node no longer has this process");
    case "process_not_running":
    case "conflict":
    case "pattern_too_slow":
    case "not_supported":
    case "command_refused":
      return new DroverError(refusal.code, refusal.message);
    default:
      return new DroverError("unavailable", refusal.message);
  }
};

/** What a node answered, by the shape that was agreed; another shape is the node's fault and not the caller's or ours. */
export const answerOf = <S extends z.ZodType>(value: unknown, schema: S): z.output<S> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const cause = parsed.error.issues[0]?.message;
  throw new DroverError("unavailable", "the node's answer has not the shape that was agreed", { cause });
};

/** The value of an outcome, or the error that says why there is none. */
export const valueOf = <S extends z.ZodType>(
  outcome: RequestOutcome,
  schema: S,
  field: string,
): z.output<S> => {
  if (outcome.outcome === "offline") throw nodeOffline();
  if (outcome.outcome === "no_answer") throw noAnswer();
  if (outcome.outcome === "refused") throw refusalError(outcome, field);
  return answerOf(outcome.value, schema);
};

/** Asks the node of a process. */
export const askNode = async <S extends z.ZodType>(
  needs: Needs,
  nodeId: string,
  question: { frame: RequestWithoutId; answer: S; field: string; signal?: AbortSignal },
): Promise<z.output<S>> =>
  valueOf(
    await needs.hub.request(nodeId, question.frame, { timeoutMs: askTimeoutMs, signal: question.signal }),
    question.answer,
    question.field,
  );
