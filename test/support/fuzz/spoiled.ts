import fc from "fast-check";

const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)]);

/** Values that were not thought of: each has broken some program. */
const strange: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, "", 0, -0, -1, 0.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21, -1e308, 1.7e308],
    ...[
      "\0",
      "a\0b",
      "\ud800",
      "\udc00x",
      "../../..",
      "..%2f",
      "%",
      "proc_",
      "NaN",
      "1e999",
      "\u202e",
      "💥".repeat(50),
    ],
    ...[[], {}, [[]], deep(500), "x".repeat(70_000), { toString: 1 }, { length: -1 }],
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: "binary" }),
);
const strangeNames = fc.constantFrom(
  "__proto__",
  "constructor",
  "toString",
  "",
  "\0",
  "\ud800",
  "rid",
  "type",
  "id",
);

/** The same value with something wrong in one or a few places, or as it is. */
export const spoiled = (values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      values,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom("put", "drop", "add"), strange, strangeNames), {
        maxLength: 2,
      }),
    )
    .map(([value, faults]) =>
      faults.reduce((so, [where, what, put, name]) => spoil(so, { where, what, put, name }), value),
    );

type Fault = { where: number; what: string; put: unknown; name: string };

/** Goes down by `where`, and does `what` at the place where it ends. */
const spoil = (value: unknown, fault: Fault): unknown => {
  const { where, what, put, name } = fault;
  if (Array.isArray(value)) {
    if (value.length === 0 || what === "add") return [...(value as unknown[]), put];
    return value.with(
      where % value.length,
      spoil(value[where % value.length], { ...fault, where: where >> 3 }),
    );
  }
  if (typeof value !== "object" || value === null) return put;
  const names = Object.keys(value);
  // Defined and not assigned: an own field of this name is what JSON.parse makes.
  if (names.length === 0 || what === "add") return withField(value, name, put);
  const chosen = names[where % names.length] ?? "";
  if (what === "drop") return Object.fromEntries(Object.entries(value).filter(([each]) => each !== chosen));
  return withField(value, chosen, spoil(Reflect.get(value, chosen), { ...fault, where: where >> 3 }));
};

const withField = (value: object, name: string, put: unknown): object =>
  Object.defineProperty({ ...value }, name, {
    value: put,
    enumerable: true,
    configurable: true,
    writable: true,
  });
