import { expect, test } from "vitest";
import { labelKeyProblem, labelsProblem, labelValueProblem } from "#shared/labels.ts";

test.each(["a", "env", "a.b/c_d-e", "A1", "x".repeat(63)])("%j is a label key", (key) => {
  expect(labelKeyProblem(key)).toBeUndefined();
});

test.each(["", "-a", "a-", "a b", "é", "a=b", "x".repeat(64)])("%j is no label key", (key) => {
  expect(labelKeyProblem(key)).toContain("label key");
});

test("a value may be any text up to 255 characters without control characters", () => {
  expect(labelValueProblem("")).toBeUndefined();
  expect(labelValueProblem("Grüße, (a) = b".padEnd(255))).toBeUndefined();
  expect(labelValueProblem("x".repeat(256))).toContain("256");
  expect(labelValueProblem("a\0")).toContain("control");
  expect(labelValueProblem("a\nb")).toContain("control");
});

test("a set of labels is wrong by its first wrong label, named", () => {
  expect(labelsProblem({ env: "prod", gpu: "" })).toBeUndefined();
  expect(labelsProblem({ env: "a\0" })).toContain('"env"');
  expect(labelsProblem({ "no key": "a" })).toContain('"no key"');
});
