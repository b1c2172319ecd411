/** The labels of a node or a process. */
export type Labels = Readonly<Record<string, string>>;

const key = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;
const maxValueLength = 255;
// oxlint-disable-next-line no-control-regex -- control characters are what this looks for
const control = /[\u0000-\u001f\u007f-\u009f]/;

/** What is wrong with a label key; undefined if nothing is: 1–63 letters, digits, `. _ / -`, a letter or digit at both ends. */
export const labelKeyProblem = (text: string): string | undefined =>
  key.test(text)
    ? undefined
    : `label key "${text.slice(0, 80)}" must be 1 to 63 letters, digits or . _ / - and begin and end with a letter or digit`;

/** What is wrong with a label value; undefined if nothing is: at most 255 characters, none of them a control character. */
export function labelValueProblem(text: string): string | undefined {
  if (text.length > maxValueLength)
    return `a label value is at most ${maxValueLength} characters, this one has ${text.length}`;
  return control.test(text) ? "a label value holds no control characters" : undefined;
}

/** The first problem in a set of labels, naming its key. */
export function labelsProblem(labels: Labels): string | undefined {
  for (const [name, value] of Object.entries(labels)) {
    const problem = labelKeyProblem(name);
    if (problem) return problem;
    const valueProblem = labelValueProblem(value);
    if (valueProblem) return `label "${name}": ${valueProblem}`;
  }
  return undefined;
}
