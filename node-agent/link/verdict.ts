import { closeCodes } from "#shared/link/limits.ts";
import type { SocketEnd } from "./socket.ts";

/** What follows from the end of a socket: a new one soon, a new one later, or the end of the agent with its cause. */
export type Verdict = { next: "retry" | "retry_late"; why: string } | { next: "stop"; why: string };

const enrolAgain = "to enrol it again, remove identity.json from its data folder and give a new join token";

const causes: Record<number, string> = {
  [closeCodes.duplicateAgent]:
    "another agent is connected as this node: its data folder was copied, or a machine cloned (remove identity.json from the copy and enrol it with its own name, or stop the other agent)",
  [closeCodes.revoked]: `this node was deleted or its key revoked; its processes run on (${enrolAgain})`,
  [closeCodes.unauthorized]: `the control plane does not accept this node's key (${enrolAgain})`,
  [closeCodes.versionMismatch]:
    "agent and control plane speak different versions of the protocol: update the older one",
};

/** Reads the end of a socket. Only what no later attempt can mend stops the agent. */
export function verdictOf(end: SocketEnd): Verdict {
  const cause = causes[end.code];
  if (cause !== undefined)
    return { next: "stop", why: end.reason === "" ? cause : `${cause}: ${end.reason}` };
  // Not the end: a control plane whose database is being restored knows no node for a while.
  if (end.httpStatus === 401 || end.httpStatus === 403)
    return {
      next: "retry_late",
      why: `the control plane does not know this node or its key (HTTP ${end.httpStatus}): the node was deleted, or another agent was enrolled in its place (${enrolAgain}); its processes run on, and the agent goes on asking`,
    };
  if (end.httpStatus !== undefined)
    return { next: "retry", why: `the control plane answered HTTP ${end.httpStatus}` };
  return { next: "retry", why: end.reason || end.error || `closed with ${end.code}` };
}
