import { readFileSync, statSync } from "node:fs";
import type { Log } from "../log.ts";
import { type Account, accountOf, captureBase, usableShell, type Variables } from "./environment.ts";
import { asUser } from "./run-as.ts";

/** An account of this machine that commands can run as. */
export type UserAccount = Account & { uid: number; gid: number };

/** The users of this machine besides the one that the agent is. */
export type Users = {
  /** The agent's own name. */
  own: string;
  /** The account of this name in /etc/passwd. */
  find(name: string): UserAccount | undefined;
  /** What commands of the account start from; a login shell is asked once for each. */
  environment(account: UserAccount): Promise<Variables>;
};

export const usersOf = (
  agent: NodeJS.ProcessEnv,
  needs: { log?: Log | undefined; signal?: AbortSignal } = {},
): Users => {
  const known = new Map<string, Promise<Variables>>();
  return {
    own: accountOf(agent).name,
    find: (name) => readAccounts().find((account) => account.name === name),
    environment(account) {
      const key = JSON.stringify(account);
      const base =
        known.get(key) ?? captureBase(shared(agent), account, { ...needs, runAs: asUser(account) });
      known.set(key, base);
      return base;
    },
  };
};

const readAccounts = (): UserAccount[] =>
  readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .flatMap((line) => {
      const [name, , uid, gid, , home, shell] = line.split(":");
      if (!name || !/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) return [];
      return { name, uid: Number(uid), gid: Number(gid), home: home || "/", shell: usableShell(shell) };
    });

/** What is the agent's user's and not the machine's stays with him. */
const shared = (agent: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(agent).filter(([name]) => !name.startsWith("XDG_") && name !== "TMPDIR"));

/** Where the commands of a user begin that name no folder. */
export const homeOf = ({ home }: Account): string => {
  try {
    return statSync(home).isDirectory() ? home : "/";
  } catch {
    // Accounts of services often have none.
    return "/";
  }
};
