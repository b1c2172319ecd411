import type { StartProcessBody } from "#shared/api/process.ts";
import type { Launch } from "#shared/link/launch.ts";

/** What the agent gets to run, without the values of secrets; a null `cwd` means the agent's own default. */
export const launchOf = (id: string, body: StartProcessBody): Launch => ({
  id,
  chatId: null,
  command: body.command ?? null,
  argv: body.argv ?? null,
  shell: body.shell,
  cwd: body.cwd ?? null,
  env: plainEnv(body),
  stdin: body.stdin,
  output: body.output,
  timeoutMs: body.timeoutMs ?? null,
  idleTimeoutMs: body.idleTimeoutMs ?? null,
  idleOn: body.idleOn,
  graceMs: body.graceMs,
  logBytes: body.limits.logBytes,
  outputBytes: body.limits.outputBytes ?? null,
  nice: body.nice ?? null,
  keepDescendants: body.keepDescendants,
  memBytes: body.limits.memBytes ?? null,
  cpuPct: body.limits.cpuPct ?? null,
  pids: body.limits.pids ?? null,
  user: body.user ?? null,
});

/** The environment of a start, without what only names a secret. */
export const plainEnv = (body: Pick<StartProcessBody, "env">): Record<string, string> =>
  Object.fromEntries(
    Object.entries(body.env ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );

/** The launch as it is stored: env and stdin text live sealed beside it. */
export const withoutSecrets = (launch: Launch): Launch => ({
  ...launch,
  env: {},
  stdin: typeof launch.stdin === "object" ? { text: "" } : launch.stdin,
});
