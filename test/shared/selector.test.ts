import { describe, expect, test } from "vitest";
import { bareKeys, matchesSelector, parseSelector, type Selectable } from "#shared/selector.ts";

const node: Selectable = { name: "web-1", labels: { env: "prod", zone: "a", gpu: "" } };

const matches = (text: string, on = node): boolean => {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return matchesSelector(parsed.selector, on);
};

describe("a selector", () => {
  test.each([
    "*",
    "env=prod",
    "env==prod",
    "env=pr*",
    "env!=dev",
    "zone in (a,b)",
    "zone in( b , a )",
    "zone notin (c)",
    "gpu",
    "gpu=",
    "!spot",
    "! spot",
    "web-*",
    "web-?",
    "*-1",
    "name=web-1",
    "name=web-*",
    "name!=db",
    "name in (db,web-1)",
    "env=prod,zone in (a,b),!spot,web-*",
    "toString!=x",
  ])("%j holds for the node", (text) => {
    expect(matches(text)).toBe(true);
  });

  test.each([
    "env=dev",
    "env=",
    "env=prod,zone=b",
    "zone in (b,c)",
    "zone notin (a)",
    "spot",
    "!gpu",
    "db-*",
    "web",
    "web-??",
    "name=web",
    "toString",
    "constructor",
    "missing=*",
  ])("%j does not hold for the node", (text) => {
    expect(matches(text)).toBe(false);
  });

  test.each([
    ["env=prod,", ""],
    ["env=prod,,gpu", ""],
    ["a b", "a b"],
    ["zone in (a", "zone in (a"],
    ["zone in (a,,b)", "zone in (a,,b)"],
    ["env=prod,=x", "=x"],
    ["!", "!"],
    ["-a=b", "-a=b"],
    ["env=a)", "env=a)"],
    ["é", "é"],
  ])("%j is an error that names the term %j", (text, term) => {
    const parsed = parseSelector(text);
    expect(parsed.ok ? "" : parsed.error).toContain(`bad term "${term}"`);
  });

  test("that is empty is an error: all nodes are written out", () => {
    expect(parseSelector("  ")).toEqual({
      ok: false,
      error: "the selector is empty; all nodes are written *",
    });
    expect(parseSelector("x".repeat(5000)).ok).toBe(false);
  });

  test("of many stars takes no long time on a long name", () => {
    expect(matches(`${"*a".repeat(1000)}b`, { name: "a".repeat(4000), labels: {} })).toBe(false);
  });
});

test.each([
  ["gpu", ["gpu"]],
  ["!web-1", ["web-1"]],
  ["env=prod,! spot,gpu,web-*", ["spot", "gpu"]],
  ["*", []],
  ["name=web-1,zone in (a,b),env!=dev,gpu=", []],
])("the bare words of %j are %j", (text, keys) => {
  const parsed = parseSelector(text);
  expect(parsed.ok && bareKeys(parsed.selector)).toEqual(keys);
});
