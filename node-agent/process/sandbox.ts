import { dirname } from "node:path";
import * as z from "zod";
import { policyRoot } from "#shared/api/policy.ts";
import { plainPath } from "#shared/guard/paths.ts";
import { failed } from "./ending.ts";
import type { ProcessFolder } from "./folder.ts";
import type { Ending } from "./record.ts";
import type { UserAccount } from "./users.ts";

/**
 * `sandbox` of a node's policy: commands run in a view of the file system made by bubblewrap. All of it is read-only but what
 * the policy names; `/tmp` and `/dev` are the command's own and go with it; `/run`, where the sockets of services are, and the agent's data
 * folder are not there, but for the command's own folder. No capability is left, and none comes back (setuid programs do not work).
 *
 * The wrapper is inside: bubblewrap tells of its child's death by signal only as of a code, and does not outlive a signal
 * itself. It is in a session of its own there, as the wrapper always is, and bubblewrap, which waits outside, is no
 * member of the command: it goes without the tag. There is no namespace of pids: the record and the agent speak of the same ones.
 */
export const sandboxShape = z.strictObject({
  with: z.literal("bwrap", "must be bwrap: nothing else is known"),
  /** The folders in which commands may write. */
  writable: z.array(policyRoot).max(1000).default([]),
  /** Whether commands have the network of the machine, or only a loopback of their own. */
  network: z.boolean().default(true),
});
export type Sandbox = z.infer<typeof sandboxShape>;

type Around = {
  /** Where bubblewrap is. */
  program: string;
  folder: ProcessFolder;
  cwd: string;
  cgroup: string | null;
  account?: UserAccount | undefined;
};

const dataFolderOf = (folder: ProcessFolder): string => dirname(dirname(folder.path));

/** Program and arguments in front of the wrapper's shell. */
export const sandboxed = ({ writable, network }: Sandbox, around: Around): string[] => {
  const { program, folder, cwd, cgroup, account } = around;
  const data = dataFolderOf(folder);
  const inData = (path: string) => path.startsWith(`${data}/`);
  // The data folder is hidden also where a writable folder holds it, and what is in it can be named.
  const within = [...writable.filter(inData), folder.path, ...(cgroup === null ? [] : [cgroup])];
  return [
    program,
    ...["--ro-bind", "/", "/", "--bind", "/proc", "/proc", "--dev", "/dev"],
    ...["--tmpfs", "/tmp", "--tmpfs", "/run"],
    // Names are looked up through a link into this folder where systemd does it.
    ...["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"],
    ...writable.filter((path) => !inData(path)).flatMap((path) => ["--bind-try", path, path]),
    ...["--tmpfs", data],
    ...within.flatMap((path) => ["--bind-try", path, path]),
    ...(network ? [] : ["--unshare-net"]),
    ...["--cap-drop", "ALL", ...(account ? toBecomeUser : [])],
    ...["--new-session", "--setenv", "DROVER_PROCESS_ID", folder.id, "--chdir", cwd, "--"],
  ];
};

/** What the wrapper needs to make a command another user's; all of it is gone once it is. */
const toBecomeUser = ["CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_DAC_OVERRIDE"].flatMap((name) => [
  "--cap-add",
  name,
]);

/** The ending of a start in a folder that is not there inside. */
export const hiddenRefusal = (
  { writable }: Sandbox,
  { folder, cwd }: Pick<Around, "folder" | "cwd">,
): Ending | undefined => {
  const path = plainPath(cwd) ?? cwd;
  const below = (root: string) => path.startsWith(`${plainPath(root) ?? root}/`);
  const within = (root: string) => path === root || below(root);
  const isHidden = below("/tmp") || below("/run") || within(dataFolderOf(folder));
  return !isHidden || writable.some(within)
    ? undefined
    : failed("cwd_not_found", `the sandbox of this node's policy hides ${path}: name it in writable`);
};
