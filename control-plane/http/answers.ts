import { auditView } from "#shared/api/audit.ts";
import { page, problem } from "#shared/api/common.ts";
import { fanoutNodeView, fanoutSummary, fanoutView } from "#shared/api/fanout.ts";
import { nodeView } from "#shared/api/node.ts";
import { processView, processWithResult } from "#shared/api/process.ts";
import { tokenView } from "#shared/api/token.ts";

/** The answers that several routes share, with the names they have in the API description. */
export const processAnswer = processView.meta({ ref: "Process" });
export const processWithResultAnswer = processWithResult.meta({ ref: "ProcessWithResult" });
export const nodeAnswer = nodeView.meta({ ref: "Node" });
export const fanoutAnswer = fanoutView.meta({ ref: "Fanout" });
export const problemAnswer = problem.meta({ ref: "Problem" });
export const processPage = page(processAnswer);
export const nodePage = page(nodeAnswer);
export const fanoutPage = page(fanoutSummary.meta({ ref: "FanoutSummary" }));
export const fanoutNodePage = page(fanoutNodeView.meta({ ref: "FanoutNode" }));
export const tokenPage = page(tokenView.meta({ ref: "Token" }));
export const auditPage = page(auditView.meta({ ref: "AuditEntry" }));
