import type { Command } from "commander";
import type { FanoutNodeView, FanoutSummary, FanoutView } from "#shared/api/fanout.ts";
import { joinArgv } from "#shared/shell-quote.ts";
import type { Client } from "../../sdk/client.ts";
import { ask } from "../connection.ts";
import { exitCodes } from "../exit-code.ts";
import { listAll } from "../list-all.ts";
import { age, printJson, printTable, wantsJson, type Column, type Paint } from "../print.ts";
import { say } from "../write.ts";
import { countsText, headOf, summaryOf } from "./summary.ts";

const mostListed = 200;

const steering: Record<string, string> = {
  pause: "pause",
  resume: "resume",
  cancel: "cancel",
  retry: "retry-failed",
};

/** What is asked of fan-outs that are there; undefined when the words are a selector and what to run. */
export function managing(
  words: string[],
): ((client: Client, command: Command) => Promise<number>) | undefined {
  const [verb = "", id = ""] = words;
  if (verb === "ls" && words.length === 1) return list;
  if (words.length !== 2 || !id.startsWith("fan_")) return undefined;
  const path = `/v1/fanouts/${encodeURIComponent(id)}`;
  if (verb === "show") return (client, command) => show(client, command, path);
  const steer = steering[verb];
  return steer === undefined
    ? undefined
    : async (client, command) => {
        const view = await ask<FanoutView>(client, `POST ${path}/${steer}`);
        if (wantsJson(command)) await printJson(view);
        else await say(headOf(view));
        return exitCodes.ok;
      };
}

async function list(client: Client, command: Command): Promise<number> {
  const all = await listAll<FanoutSummary>(client, "/v1/fanouts", {}, mostListed);
  if (wantsJson(command)) await printJson(all);
  else await printTable(columns(Date.now()), all);
  return exitCodes.ok;
}

async function show(client: Client, command: Command, path: string): Promise<number> {
  const view = await ask<FanoutView>(client, `GET ${path}`);
  const nodes = await listAll<FanoutNodeView>(client, `${path}/nodes`, {});
  if (wantsJson(command)) await printJson({ ...view, nodes });
  else
    await say(
      summaryOf(
        view,
        nodes.filter(({ sha256 }) => sha256 === null),
      ),
    );
  return exitCodes.ok;
}

const colours: Record<FanoutSummary["status"], Paint> = {
  running: "green",
  paused: "yellow",
  succeeded: "grey",
  failed: "red",
  canceled: "yellow",
};

const columns = (now: number): Column<FanoutSummary>[] => [
  { title: "ID", cell: ({ id }) => id },
  {
    title: "STATUS",
    cell: ({ status, reason }) => [status, reason].filter((part) => part !== null).join(" "),
    paint: ({ status }) => colours[status],
  },
  { title: "AGE", cell: ({ createdAt }) => age(createdAt, now) },
  { title: "SELECTOR", cell: ({ selector }) => selector },
  { title: "NODES", cell: ({ counts }) => countsText(counts) },
  { title: "COMMAND", cell: ({ command, argv }) => command ?? joinArgv(argv ?? []) },
];
