import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { type Log, reasonOf } from "../log.ts";
import { loginEnvironment, type LoginLimits, type LoginOutcome } from "./login-environment.ts";

/**
 * The environment of commands, by rising precedence: what the user's login shell exports, the request, Drover's own names.
 * Of the agent and the login only names on the list below get through: an agent is started with secrets in its environment,
 * and a profile may export some too. A library path is taken from the login only, since that of the agent may be there to
 * run the agent.
 */
export type Variables = Record<string, string>;
export type Account = { name: string; home: string; shell: string };

const listed = new Set([
  "PATH",
  "LANG",
  "TZ",
  "TMPDIR",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  ...["http_proxy", "https_proxy", "no_proxy", "all_proxy"].flatMap((name) => [name, name.toUpperCase()]),
]);
const listedPrefixes = ["LC_", "XDG_"];
const loginOnly = new Set(["LD_LIBRARY_PATH"]);
const reserved = new Set(["DROVER_PROCESS_ID", "DROVER_CHAT_ID", "DROVER_NODE"]);

const defaultPath = ["/usr/local/bin", "/usr/bin", "/bin"];
const systemPath = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** Everything a command finds in its environment. */
export const commandEnvironment = (given: {
  base: Variables;
  request: Variables;
  process: { id: string; chatId: string | null; nodeName: string };
}): Variables => {
  const { id, chatId, nodeName } = given.process;
  const free = Object.entries({ ...given.base, ...given.request }).filter(([name]) => !reserved.has(name));
  return {
    ...Object.fromEntries(free),
    DROVER_PROCESS_ID: id,
    ...(chatId === null ? {} : { DROVER_CHAT_ID: chatId }),
    DROVER_NODE: nodeName,
  };
};

/** `runAs`: program and arguments through which the login shell becomes the account's, where that is not the agent's. */
type CaptureNeeds = LoginLimits & { log?: Log | undefined; runAs?: string[] };

/**
 * The environment that commands of this account start from, when the agent itself has `agent`; takes up to 5 s, and never
 * rejects. A failed login leaves the agent's own allowed variables, with defaults where there are none.
 */
export const captureBase = async (
  agent: NodeJS.ProcessEnv,
  account: Account,
  { log, runAs = [], ...limits }: CaptureNeeds = {},
): Promise<Variables> => {
  const bare = bareEnvironment(agent, account);
  const login = await loginEnvironment({ shell: [...runAs, account.shell], env: bare }, limits).catch(
    (error: unknown): LoginOutcome => ({ failure: reasonOf(error) }),
  );
  if ("failure" in login && !limits.signal?.aborted)
    log?.warn("login.failed", sayFailure(login.failure, account));
  const taken =
    "exported" in login ? pick(login.exported, (name) => isListed(name) || loginOnly.has(name)) : {};
  const path = joinPaths(taken["PATH"], withoutPackageFolders(agent["PATH"]), defaultPath.join(":"));
  return { ...bare, ...taken, PATH: path };
};

const sayFailure = (failure: string, { name, shell }: Account) => ({
  shell,
  why: failure,
  instead: "commands get the agent's own PATH, locale and proxies, and nothing that the profile exports",
  mend: `see as ${name} what \`${shell} -lc env </dev/null\` does, then start the agent again; its processes live on`,
});

/** What the login shell is started with: the place of login(1), with the agent's allowed variables. */
const bareEnvironment = (agent: NodeJS.ProcessEnv, account: Account): Variables => ({
  LANG: "C.UTF-8",
  ...pick(agent, isListed),
  PATH: joinPaths(withoutPackageFolders(agent["PATH"]), defaultPath.join(":"), systemPath.join(":")),
  HOME: account.home,
  USER: account.name,
  LOGNAME: account.name,
  SHELL: account.shell,
  TERM: "dumb",
});

const isListed = (name: string): boolean =>
  listed.has(name) || listedPrefixes.some((prefix) => name.startsWith(prefix));

const pick = (all: NodeJS.ProcessEnv, wanted: (name: string) => boolean): Variables =>
  Object.fromEntries(
    Object.entries(all).filter(
      (entry): entry is [string, string] => wanted(entry[0]) && entry[1] !== undefined && entry[1] !== "",
    ),
  );

const joinPaths = (...paths: (string | undefined)[]): string =>
  [...new Set(paths.flatMap((path) => path?.split(":") ?? []).filter((folder) => folder !== ""))].join(":");

/** `npm start` puts the agent's own packages on its PATH: they are no commands of the user. */
const withoutPackageFolders = (path: string | undefined): string =>
  path
    ?.split(":")
    .filter((folder) => !/\/node_modules\/\.bin\/?$|\/node-gyp-bin\/?$/.test(folder))
    .join(":") ?? "";

/** The account as the system knows it; an agent in a container may run as a user that has no entry. */
export const accountOf = (agent: NodeJS.ProcessEnv): Account => {
  try {
    const { username, homedir, shell } = userInfo();
    return { name: username, home: homedir, shell: usableShell(shell) };
  } catch {
    // No entry for this user id: what the agent was started with is all there is.
    return {
      name: agent["USER"] ?? String(process.getuid?.() ?? "nobody"),
      home: agent["HOME"] ?? "/",
      shell: usableShell(agent["SHELL"]),
    };
  }
};

/** Accounts of services have shells that only say no. */
export const usableShell = (shell: string | null | undefined): string =>
  shell && existsSync(shell) && !/\/(nologin|false|true|sync)$/.test(shell) ? shell : "/bin/sh";
