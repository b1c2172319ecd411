import type { ProcessView } from "#shared/api/process.ts";
import type { Client, RequestOptions } from "../sdk/client.ts";
import type { Answer } from "../sdk/failure.ts";
import { each } from "./each.ts";
import { endingText } from "./process-text.ts";

/** Does one thing to several processes, tells of each, and answers the code of the first that failed. */
export const eachProcess = (
  ids: string[],
  act: (id: string) => Promise<Answer<ProcessView>>,
): Promise<number> => each(ids, act, endingText);

/** A POST to one of a process's verbs. */
export const post = (client: Client, id: string, verb: string, options: RequestOptions) =>
  client.request<ProcessView>("POST", `/v1/processes/${encodeURIComponent(id)}/${verb}`, options);
