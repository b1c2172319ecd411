import { closeSync, fchownSync, openSync, writeFileSync } from "node:fs";
import { shellQuote } from "#shared/shell-quote.ts";
import { failed } from "./ending.ts";
import type { ProcessFolder } from "./folder.ts";
import { programPath } from "./program-path.ts";
import type { UserAccount } from "./users.ts";

/**
 * How a command is set apart from its wrapper: as another user's, or in a sandbox. The wrapper stays the agent's (root): the user can neither signal it nor write the
 * record, and the folder is closed to him; of it he has what is open (stdin, stdout, stderr), as files of his own, so that
 * `>/dev/stderr` works.
 *
 * Nothing of the user's may reach the wrapper: the environment of a start (LD_PRELOAD, BASH_ENV …) would run as root, or
 * before there is a sandbox. So the wrapper has a bare one, and what the user gets stands in a second script, which the leader opens and removes, and which a
 * shell reads once it is the user.
 */
const scriptFd = 5;
const textFd = 6;

type Whose = UserAccount | undefined;

/** Program and arguments in front of what is to run as the user, with the groups that he has and no capability. */
export const asUser = ({ uid, gid }: UserAccount): string[] => [
  programPath("setpriv"),
  `--reuid=${uid}`,
  `--regid=${gid}`,
  ...["--init-groups", "--inh-caps=-all"],
];

const quoted = (words: string[]): string => words.map(shellQuote).join(" ");

/** Where the text of a command too long for an argument is read: the user may not go by its path. */
export const textPath = `/proc/self/fd/${textFd}`;

/** What the leader does while it still has the record: the user has to be able to be where the command begins. */
export const folderCheck = (id: string, account: UserAccount, cwd: string): string => {
  const ending = failed("cwd_not_found", `${account.name} may not enter ${cwd}`);
  const final = shellQuote(`${id} final ${JSON.stringify(ending)}`);
  return `${quoted([...asUser(account), programPath("test"), "-x", "."])} 2>/dev/null || { printf '%s\\n' ${final} >&3; exit 1; }\n`;
};

/** The last words of the leader. */
export const setApart = (account: Whose, folder: ProcessFolder, hasText: boolean): string => {
  const text = hasText ? ` ${textFd}<${shellQuote(folder.cmd)}` : "";
  return `exec ${scriptFd}<${shellQuote(folder.as)}${text}
${quoted([programPath("rm"), "-f", folder.as])} 2>/dev/null
exec ${quoted([...(account ? asUser(account) : []), "/bin/sh", `/proc/self/fd/${scriptFd}`])}`;
};

/** Names that some shells keep to themselves: an assignment ends the shell. */
const keptByShells = new Set(["UID", "EUID", "PPID", "GROUPS", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"]);
const isName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The second script: the environment, then the command. `execLine` is what follows `exec`. */
export const userScript = (env: Record<string, string>, before: string, execLine: string): string => {
  const variables = Object.entries(env).filter(([name]) => isName.test(name));
  const exported = variables.filter(([name]) => !keptByShells.has(name));
  const kept = variables
    .filter(([name]) => keptByShells.has(name))
    .map(([name, value]) => `${name}=${value}`);
  const throughEnv = kept.length === 0 ? "" : `${quoted([programPath("env"), ...kept])} `;
  return [
    `exec ${scriptFd}<&-`,
    ...exported.map(([name, value]) => `export ${name}=${shellQuote(value)}`),
    `${before}exec ${throughEnv}${execLine}`,
  ].join("\n");
};

/** What the wrapper and the leader run with; without an id whoever runs with it belongs to no command. */
export const bareEnvironment = (id: string | undefined): Record<string, string> => ({
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  ...(id !== undefined && { DROVER_PROCESS_ID: id }),
});

/** Writes a file of the folder that belongs to the user. */
export const writeAs = (account: Whose, path: string, text: string): void => {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeFileSync(fd, text);
    giveTo(account, fd);
  } finally {
    closeSync(fd);
  }
};

export const giveTo = (account: Whose, fd: number): void => {
  if (account) fchownSync(fd, account.uid, account.gid);
};
