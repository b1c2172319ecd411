import fc from "fast-check";
import type { z } from "zod";
import { type Around, type JsonSchema, valuesOf } from "./schema-values.ts";
import { spoiled } from "./spoiled.ts";

/** Frames as their schema has them, spoiled ones, and texts that are no frames. */
export const framesOf = (
  schema: z.core.JSONSchema.BaseSchema,
  texts: Around["texts"],
): fc.Arbitrary<string> => {
  const kinds = kindsOf(schema as JsonSchema).map((kind) => valuesOf(kind, { texts }));
  const frames = fc.oneof(...kinds);
  return fc.oneof(
    { weight: 6, arbitrary: frames.map((frame) => JSON.stringify(frame)) },
    { weight: 6, arbitrary: spoiled(frames).map((frame) => JSON.stringify(frame) ?? "") },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    { weight: 1, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: frames.map((frame) => JSON.stringify(frame).replace(/\d+/g, "1e999")) },
  );
};

/** A union of unions, flat: each kind of frame is tried as often as any other. */
const kindsOf = (schema: JsonSchema): JsonSchema[] => {
  const branches = schema.oneOf ?? schema.anyOf;
  return branches === undefined ? [schema] : branches.flatMap(kindsOf);
};
