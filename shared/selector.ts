// A selector is terms joined by commas, all of which must hold:
//   *              every node
//   env=prod       the label has this value      (env!=prod: it has not); the value may be a glob
//   zone in (a,b)  the label has one of these    (zone notin (a,b): none of them)
//   gpu, !spot     the label exists, does not exist
//   name=web-1     the node's own name
//   web-*          a name glob: any bare term with `*` or `?`
import { globMatches } from "./glob.ts";
import { labelKeyProblem, type Labels, labelValueProblem } from "./labels.ts";

/** One condition on a node. */
export type Term =
  | { kind: "all" }
  | { kind: "glob"; pattern: string }
  | { kind: "exists"; key: string; wanted: boolean }
  | { kind: "in"; key: string; values: readonly string[]; wanted: boolean };

/** A parsed selector; its terms are for matchesSelector, and for the statements that match in the database. */
export type Selector = readonly Term[];
/** A selector, or which term is wrong and why. */
export type ParsedSelector = { ok: true; selector: Selector } | { ok: false; error: string };
/** What a selector is matched against. */
export type Selectable = { name: string; labels: Labels };

const maxSelectorLength = 4096;
const setTerm = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const equalTerm = /^([^\s=!]+)\s*(==?|!=)\s*(.*)$/;

/** Reads a selector as users write it; an empty one is an error, since all nodes are written `*`. */
export function parseSelector(text: string): ParsedSelector {
  if (text.length > maxSelectorLength)
    return { ok: false, error: `a selector is at most ${maxSelectorLength} characters` };
  if (text.trim() === "") return { ok: false, error: "the selector is empty; all nodes are written *" };
  const selector: Term[] = [];
  for (const term of splitTerms(text)) {
    const parsed = parseTerm(term);
    if (typeof parsed === "string") return { ok: false, error: `bad term "${term}": ${parsed}` };
    selector.push(parsed);
  }
  return { ok: true, selector };
}

/** Whether every term of the selector holds for this node. */
export const matchesSelector = (selector: Selector, node: Selectable): boolean =>
  selector.every((term) => holds(term, node));

/** Whether all that one selector matches is matched by another one, as far as their terms show: each term of the outer one is one of the inner's. */
export const selectorHolds = (outer: Selector, inner: Selector): boolean => {
  const terms = new Set(inner.map((term) => JSON.stringify(term)));
  return outer.every((term) => term.kind === "all" || terms.has(JSON.stringify(term)));
};

/** The keys of terms that are a bare word (`gpu`, `!spot`): where somebody may have meant a name. */
export const bareKeys = (selector: Selector): string[] =>
  selector.flatMap((term) => (term.kind === "exists" ? [term.key] : []));

function splitTerms(text: string): string[] {
  const terms = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "(") depth++;
    if (char === ")") depth--;
    if (char === "," && depth <= 0) terms.push("");
    else terms[terms.length - 1] += char;
  }
  return terms.map((term) => term.trim());
}

function parseTerm(term: string): Term | string {
  if (term === "") return "nothing stands between two commas, or at an end";
  if (term === "*") return { kind: "all" };
  if (term.startsWith("!")) return existsTerm(term.slice(1).trim(), false);
  const set = setTerm.exec(term);
  if (set)
    return inTerm(
      set[1] ?? "",
      (set[3] ?? "").split(",").map((value) => value.trim()),
      set[2] === "in",
    );
  if (/[\s()]/.test(term) && !equalTerm.test(term))
    return "expected key=value, key in (a,b), key, !key or a name glob";
  const equal = equalTerm.exec(term);
  if (equal) return inTerm(equal[1] ?? "", [equal[3] ?? ""], equal[2] !== "!=");
  return /[*?]/.test(term) ? { kind: "glob", pattern: term } : existsTerm(term, true);
}

const existsTerm = (key: string, wanted: boolean): Term | string =>
  labelKeyProblem(key) ?? { kind: "exists", key, wanted };

function inTerm(key: string, values: readonly string[], wanted: boolean): Term | string {
  const problem = labelKeyProblem(key) ?? values.map(labelValueProblem).find((found) => found !== undefined);
  if (problem) return problem;
  if (values.length > 1 && values.includes("")) return "a list holds no empty value";
  if (values.some((value) => /[()]/.test(value))) return "a value holds no parentheses";
  return { kind: "in", key, values, wanted };
}

function holds(term: Term, node: Selectable): boolean {
  switch (term.kind) {
    case "all":
      return true;
    case "glob":
      return globMatches(term.pattern, node.name);
    case "exists":
      return (labelOf(node, term.key) !== undefined) === term.wanted;
    case "in":
      return term.values.some((value) => hasValue(node, term.key, value)) === term.wanted;
  }
}

const labelOf = (node: Selectable, key: string): string | undefined =>
  Object.hasOwn(node.labels, key) ? node.labels[key] : undefined;

// `name` is the node's name, whatever label of that key it may carry.
function hasValue(node: Selectable, key: string, value: string): boolean {
  const own = key === "name" ? node.name : labelOf(node, key);
  return own !== undefined && globMatches(value, own);
}
