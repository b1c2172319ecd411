import { unheldField } from "#shared/api/walls.ts";
import { refusalText, type Refusal } from "#shared/guard/verdict.ts";
import type { Launch } from "#shared/link/launch.ts";
import type { EngineAnswer } from "../engine.ts";
import type { Walls } from "../machine/walls.ts";
import type { NodePolicy } from "../policy-file.ts";
import { failed } from "./ending.ts";
import type { Ending } from "./record.ts";

/** A start with the limits that the node's policy holds for it, and its ending where the policy refuses it. */
export function admit(
  policy: NodePolicy | undefined,
  launch: Launch,
  cwd: string,
): { launch: Launch; refusal?: Ending } {
  const verdict = policy?.judge(launch, cwd);
  if (verdict === undefined) return { launch };
  if (verdict.allowed) return { launch: { ...launch, ...verdict.limits } };
  return { launch, refusal: failed("command_refused", `On this node: ${refusalText(verdict.refusal)}`) };
}

/** The ending of a start that asks for what cannot be held here. The control plane refuses it first, by what this node said last. */
export const wallRefusal = (walls: Walls, launch: Launch): Ending | undefined => {
  const field = unheldField(launch, walls.enforces);
  return field === undefined
    ? undefined
    : failed("spawn_error", `${field} cannot be held on this node, so nothing was started`);
};

/** The answer to a request that the node's policy refuses. */
export const refusedAnswer = (refusal: Refusal | undefined): EngineAnswer | undefined =>
  refusal && { error: { code: "command_refused", message: refusalText(refusal) } };
