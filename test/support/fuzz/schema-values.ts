import fc from "fast-check";

/** As much of JSON Schema as zod writes and the API description holds. */
export type JsonSchema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  $ref?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
};

export type Around = {
  /** Texts that mean something to what is tried, by the name of the field or parameter: ids, names, commands. */
  texts: (name: string) => fc.Arbitrary<string>;
  /** What `$ref` names. */
  named?: (ref: string) => JsonSchema | undefined;
};

/** Values that a schema takes, as far as JSON Schema can say it: what more a parser asks for is its own to refuse. */
export const valuesOf = (schema: JsonSchema, around: Around, name = ""): fc.Arbitrary<unknown> => {
  if (schema.$ref !== undefined) return valuesOf(around.named?.(schema.$ref) ?? {}, around, name);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return fc.oneof(...branches.map((branch) => valuesOf(branch, around, name)));
  if (schema.allOf?.[0] !== undefined) return valuesOf(schema.allOf[0], around, name);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return objects(schema, around);
    case "array":
      return fc.array(valuesOf(schema.items ?? {}, around, name), {
        minLength: Math.min(schema.minItems ?? 0, 4),
        maxLength: Math.min(schema.maxItems ?? 4, 4),
      });
    case "string":
      return strings(schema, around.texts(name));
    case "integer":
      return fc.oneof(edges(schema), fc.integer(boundsOf(schema, 0, 2 ** 31)));
    case "number":
      return fc.oneof(edges(schema), fc.double({ ...boundsOf(schema, -1e9, 1e9), noNaN: true }));
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
};

const boundsOf = ({ minimum, maximum }: JsonSchema, least: number, most: number) => {
  const min = Math.max(minimum ?? least, -(2 ** 31));
  return { min, max: Math.max(min, Math.min(maximum ?? most, most)) };
};

/** The least and the most that is taken: where an overflow would begin. */
const edges = ({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> =>
  fc.constantFrom(minimum ?? 0, maximum ?? Number.MAX_SAFE_INTEGER, 0 < (minimum ?? 0) ? (minimum ?? 0) : 0);

const strings = ({ pattern, minLength = 0, maxLength = 64 }: JsonSchema, texts: fc.Arbitrary<string>) => {
  const plain = fc.string({
    unit: "binary",
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, 64)),
  });
  return fc.oneof(
    { weight: 8, arbitrary: texts },
    { weight: 2, arbitrary: matching(pattern) ?? plain },
    { weight: 1, arbitrary: plain },
  );
};

// fast-check reads most patterns; for one with a look-ahead any text has to do.
const matching = (pattern: string | undefined): fc.Arbitrary<string> | undefined => {
  if (pattern === undefined) return undefined;
  try {
    return fc.stringMatching(new RegExp(pattern));
  } catch {
    return undefined;
  }
};

const objects = (schema: JsonSchema, around: Around): fc.Arbitrary<unknown> => {
  const known = fc
    .tuple(
      ...Object.entries(schema.properties ?? {}).map(([name, of]) =>
        field(name, valuesOf(of, around, name), schema.required?.includes(name) ?? false),
      ),
    )
    .map((fields) => Object.fromEntries(fields.filter((each) => each !== undefined)));
  const { additionalProperties: more } = schema;
  if (typeof more !== "object") return known;
  const names = strings(schema.propertyNames ?? {}, around.texts("name"));
  const others = fc.dictionary(names, valuesOf(more, around), { maxKeys: 3 });
  return fc.tuple(known, others).map(([one, other]) => ({ ...other, ...one }));
};

// Few at a time: of many, one is wrong in a way that only the parser knows, and nothing gets past it.
const field = (name: string, values: fc.Arbitrary<unknown>, isRequired: boolean) => {
  const given = values.map((value) => [name, value] as const);
  return isRequired ? given : fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, given);
};
