import type { Function as ShellFunction, SyntaxNode } from "unbash";
import { forEachChild } from "unbash";

export const forkBombRule = "fork_bomb";

const inputs = new Set<SyntaxNode["type"]>(["HereDoc", "HereString", "Redirect", "Assignment"]);

type Calls = { all: number; background: number; piped: number };

/** What is wrong with a function: it starts itself at least twice at once, through a pipe or in the background. `maxNodes` bounds the look. */
export function foundInFunction(node: ShellFunction, maxNodes: number): string | undefined {
  const calls = countCalls(node.body, node.name.value, maxNodes);
  const multiplies = calls.piped >= 2 || (calls.background >= 1 && calls.all >= 2);
  return multiplies ? "start itself again and again without end (a fork bomb)" : undefined;
}

function countCalls(body: SyntaxNode, name: string, maxNodes: number): Calls {
  const calls: Calls = { all: 0, background: 0, piped: 0 };
  const open = [{ node: body, background: false, piped: false }];
  for (let left = maxNodes; left > 0; left--) {
    const next = open.pop();
    if (!next) break;
    const { node } = next;
    const background = next.background || (node.type === "Statement" && node.background === true);
    const piped = next.piped || node.type === "Pipeline";
    if (node.type === "Command" && node.name?.value === name) {
      calls.all++;
      if (background) calls.background++;
      if (piped) calls.piped++;
    }
    // Words hold no call that a plain bomb makes, and looking into them would parse them.
    if (!("text" in node) && !inputs.has(node.type))
      forEachChild(node, (child) => open.push({ node: child, background, piped }));
  }
  return calls;
}
