import { type Command, InvalidArgumentError } from "commander";
import type { AuditView } from "#shared/api/audit.ts";
import { parseDuration } from "#shared/duration.ts";
import { joinArgv } from "#shared/shell-quote.ts";
import { exportAudit, type AuditWanted } from "../../sdk/audit.ts";
import { failureOfThrown } from "../../sdk/failure.ts";
import { connect, valueOf, withConnection } from "../connection.ts";
import { exitCodes, signalNumber } from "../exit-code.ts";
import { listAll } from "../list-all.ts";
import { count } from "../options.ts";
import { printJson, printTable, wantsJson, withShape, type Column } from "../print.ts";
import { Failed, type Verb } from "../verb.ts";
import { stdoutFd, writeAll } from "../write.ts";

type Options = AuditWanted & { since?: string; until?: string; limit: number; export?: boolean };

const help = `
Examples:
  drover audit -n web-1 --since 24h
  drover audit --actor ci --operation startProcess --result refused -o json
  drover audit --since 2026-01-01T00:00:00Z --export > audit.ndjson

What is in it and what is not: docs/audit.md.`;

export const verb: Verb = {
  define: (command) =>
    withShape(withConnection(command))
      .option("--actor <name>", "only of this token, by name or id (admin: the token of the settings)")
      .option("--operation <name>", "only of this kind, such as startProcess or leaseNode")
      .option("--object <id>", "only about this process, node, token, …")
      .option("-n, --node <node>", "only on this node")
      .option("--result <result>", "only ok, refused, failed, or a code such as forbidden")
      .option("--since <when>", "from then on: how long ago (24h) or a time (2026-01-01T00:00:00Z)", moment)
      .option("--until <when>", "before then", moment)
      .option("--limit <n>", "at most this many, the newest", count, 50)
      .option("--export", "all that matches as NDJSON, one entry a line")
      .addHelpText("after", help),
  run,
};

function moment(text: string): string {
  const ago = parseDuration(text);
  const at = ago.ok ? Date.now() - ago.ms : Date.parse(text);
  if (Number.isNaN(at))
    throw new InvalidArgumentError("Give how long ago, such as 24h, or a time such as 2026-01-01T00:00:00Z.");
  return new Date(at).toISOString();
}

async function run(command: Command): Promise<number> {
  const { actor, operation, object, node, result, since, until, ...options } = command.opts<Options>();
  const wanted = { actor, operation, object, node, result, from: since, to: until };
  if (options.export === true) return exportTo(command, wanted);
  const entries = await listAll<AuditView>(await connect(command), "/v1/audit", wanted, options.limit);
  if (wantsJson(command)) await printJson(entries);
  else await printTable(columns, entries);
  return exitCodes.ok;
}

async function exportTo(command: Command, wanted: AuditWanted): Promise<number> {
  const client = await connect(command);
  const { body } = valueOf(await exportAudit(client, wanted));
  try {
    for await (const bytes of body ?? [])
      if ((await writeAll(stdoutFd, bytes)) === "gone") return 128 + signalNumber("PIPE");
  } catch (error) {
    const { message } = failureOfThrown(error, client.url);
    throw new Failed(`the export is not whole: ${message}`, exitCodes.drover);
  }
  return exitCodes.ok;
}

const columns: Column<AuditView>[] = [
  { title: "AT", cell: ({ at }) => at },
  { title: "ACTOR", cell: ({ actor }) => actor.name },
  { title: "FROM", cell: ({ address }) => address ?? "-" },
  { title: "OPERATION", cell: ({ operation }) => operation },
  {
    title: "RESULT",
    cell: ({ status, code }) => code ?? String(status),
    paint: ({ status }) => (status >= 500 ? "red" : status >= 400 ? "yellow" : undefined),
  },
  { title: "NODE", cell: ({ node }) => node?.name ?? node?.id ?? "-" },
  { title: "OBJECT", cell: ({ object }) => object.id ?? object.kind },
  { title: "WHAT", cell: ({ input }) => whatText(input) },
];

/** The command of a start; of everything else what was asked for. */
function whatText({ command, argv, ...rest }: AuditView["input"]): string {
  if (typeof command === "string") return command;
  if (Array.isArray(argv)) return joinArgv(argv.map(String));
  return Object.keys(rest).length === 0 ? "-" : JSON.stringify(rest);
}
