import { readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { Log } from "../log.ts";

/**
 * The agent as the first process of a container (pid 1).
 *
 * Processes whose parent ended become children of pid 1, which must wait for them; Node waits for its own children
 * only, so each orphan of a command would stay as a zombie until no more processes can be made. A shell that waits
 * collects every child. So Node replaces itself by a shell, which starts Node again as its child, passes TERM, INT and
 * HUP on to it, and ends with its exit code. When the shell ends, the kernel ends the container's other processes.
 */
const reaper = `
trap 'again=1; kill -TERM "$agent" 2>/dev/null' TERM
trap 'again=1; kill -INT "$agent" 2>/dev/null' INT
trap 'again=1; kill -HUP "$agent" 2>/dev/null' HUP
"$@" <&0 &
agent=$!
again=1
code=0
while [ "$again" = 1 ]; do
  again=0
  wait "$agent"
  seen=$?
  # 127: collected in the round that a signal interrupted.
  [ "$seen" = 127 ] || code=$seen
done
exit "$code"
`;

/** Where this is pid 1, goes on as a child of a shell that reaps and does not return; else does nothing. */
export function stepAsideAsFirstProcess(log: Log): void {
  if (process.pid !== 1) return isNodeFirst() ? warn(log) : undefined;
  if (process.execve === undefined) return warn(log);
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // Its warning, that execve is experimental, says nothing to whom runs an agent.
  process.removeAllListeners("warning");
  process.execve("/bin/sh", ["sh", "-c", reaper, "drover-init", ...again], process.env);
}

/** An older Node that started this one cannot step aside. */
function isNodeFirst(): boolean {
  if (process.ppid !== 1) return false;
  try {
    return basename(readlinkSync("/proc/1/exe")) === "node";
  } catch {
    // Nobody's to read but root's: then it is not what started us.
    return false;
  }
}

const warn = (log: Log): void =>
  log.warn("init.missing", {
    why: "orphaned processes are not collected: as pid 1, start the agent with a newer Node, or run it under an init (docker run --init)",
  });
