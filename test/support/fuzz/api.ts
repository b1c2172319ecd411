import fc from "fast-check";
import { spoiled } from "./spoiled.ts";
import { valuesOf, type JsonSchema } from "./schema-values.ts";

type Parameter = { in: string; name: string; schema?: JsonSchema };
type Described = {
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, { schema?: JsonSchema }> };
  responses: Record<string, unknown>;
};
export type Description = {
  paths: Record<string, Record<string, Described>>;
  components?: { schemas?: Record<string, JsonSchema> };
};

/** One route of the description, and what may be sent to it. */
export type Operation = { method: string; path: string; statuses: number[]; requests: Requests };
/** `texts` by the name of a field, or by that of the resource for an `{id}`; `sample`: what a body needs beyond its schema. */
type Given = { texts: (name: string) => fc.Arbitrary<string>; sample?: object | undefined };
type Requests = (given: Given) => fc.Arbitrary<FuzzRequest>;
export type FuzzRequest = { path: string; headers: Record<string, string>; body: Uint8Array | undefined };

/** Every route that a description names, so that one that is added later is tried, too. */
export const operationsOf = ({ paths, components }: Description): Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      method: method.toUpperCase(),
      path,
      statuses: Object.keys(described.responses).map(Number),
      requests: requestsOf(path, described, (ref) => components?.schemas?.[ref.split("/").at(-1) ?? ""]),
    })),
  );

type Named = (ref: string) => JsonSchema | undefined;

const requestsOf =
  (path: string, { parameters = [], requestBody }: Described, named: Named): Requests =>
  ({ texts, sample = {} }) => {
    const around = { texts, named };
    const schema = requestBody?.content?.["application/json"]?.schema;
    const query = fc.tuple(
      ...parameters
        .filter((parameter) => parameter.in === "query")
        .map(({ name, schema: of = {} }) =>
          fc.option(fc.tuple(fc.constant(name), valuesOf(of, around, name)), { nil: undefined, freq: 2 }),
        ),
    );
    return fc.record({
      path: fc
        .tuple(pathsOf(path, texts), query, strangeQuery)
        .map(([to, asked, more]) => to + textOf(asked, more)),
      headers,
      body: schema === undefined ? fc.constant(undefined) : bodiesOf(over(valuesOf(schema, around), sample)),
    });
  };

// What the schema cannot say, such as "either this or that", a sample does.
const over = (values: fc.Arbitrary<unknown>, sample: object): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 1, arbitrary: values },
    { weight: 4, arbitrary: values.map((value) => Object.assign({}, value, sample)) },
  );

const pathsOf = (path: string, texts: Given["texts"]): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...path
        .split("/")
        .map((part, at, parts) =>
          part.startsWith("{") ? segments(texts(parts[at - 1] ?? "")) : fc.constant(part),
        ),
    )
    .map((parts) => parts.join("/"));

const segments = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: texts.map((text) => encodeURIComponent(text.toWellFormed())) },
    fc.constantFrom("%00", "%zz", "%ff", "..%2f..", "%e2%82", "x".repeat(4000)),
    fc.string({ unit: "binary" }).map((text) => encodeURIComponent(text.toWellFormed()) || "%20"),
  );

const strangeQuery = fc.oneof(
  { weight: 8, arbitrary: fc.constant("") },
  fc.constantFrom(
    "x=1",
    "%",
    "a=%ff",
    "from=1&from=2",
    "limit=",
    "__proto__=1",
    "waitMs=1e3",
    "waitMs=99999999999999999999",
  ),
  fc.webQueryParameters(),
);

const textOf = (asked: ([string, unknown] | undefined)[], more: string): string => {
  const pairs = asked
    .filter((pair) => pair !== undefined)
    .flatMap(([name, value]) =>
      [value].flat().map((each) => `${name}=${encodeURIComponent(String(each).toWellFormed())}`),
    );
  const text = [...pairs, ...(more === "" ? [] : [more])].join("&");
  return text === "" ? "" : `?${text}`;
};

const visible = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
});
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 3 });

const headers = fc
  .record({
    "content-type": fc.oneof({ weight: 20, arbitrary: fc.constant("application/json") }, visible),
    "idempotency-key": maybe(visible),
    "last-event-id": maybe(visible),
    "drover-lease": maybe(visible),
    accept: maybe(visible),
  })
  .map((all) =>
    Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)),
  );

const encoder = new TextEncoder();

/** As the schema has it, spoiled, or bytes that are no JSON at all. */
const bodiesOf = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Uint8Array> =>
  fc.oneof(
    { weight: 4, arbitrary: values.map((value) => encoder.encode(JSON.stringify(value))) },
    { weight: 4, arbitrary: spoiled(values).map((value) => encoder.encode(JSON.stringify(value) ?? "")) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
    { weight: 1, arbitrary: values.map((value) => encoder.encode(JSON.stringify(value).slice(1, -1))) },
  );
