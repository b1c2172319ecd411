import type { ProcessView } from "#shared/api/process.ts";
import type { Client, RequestOptions } from "../sdk/client.ts";
import { exitCodeOfFailure, exitCodes } from "./exit-code.ts";
import { endingText } from "./process-text.ts";
import { say, tell } from "./write.ts";

/** Does one thing to several processes, tells of each, and answers the code of the first that failed. */
export async function eachProcess(
  ids: string[],
  act: (id: string) => ReturnType<Client["request"]>,
): Promise<number> {
  let code: number = exitCodes.ok;
  for (const id of ids) {
    const answer = await act(id);
    if (answer.ok) await say(`${id} ${endingText(answer.value as ProcessView)}`);
    else {
      await tell(`drover: ${id}: ${answer.failure.message}`);
      code ||= exitCodeOfFailure(answer.failure);
    }
  }
  return code;
}

/** A POST to one of a process's verbs. */
export const post = (client: Client, id: string, verb: string, options: RequestOptions) =>
  client.request<ProcessView>("POST", `/v1/processes/${encodeURIComponent(id)}/${verb}`, options);
