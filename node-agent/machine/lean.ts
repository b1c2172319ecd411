/**
 * Goes on as the same process with a smaller Node: a young generation of 1 MiB and no optimizing compilers. The agent is on
 * every node and waits most of its time; what it does is system calls. Its memory also is what forking costs: the kernel
 * copies the page tables of the agent for every command (measured: 2 ms a spawn at 75 MB, 12 ms at 106 MB).
 */
const flags = ["--max-semi-space-size=1", "--no-opt", "--no-maglev"];

/** Does not return where Node can be replaced in place; else the agent runs as it is. */
export function becomeLean(): void {
  if (process.execve === undefined || flags.every((flag) => process.execArgv.includes(flag))) return;
  // Its warning, that execve is experimental, says nothing to whom runs an agent.
  process.removeAllListeners("warning");
  process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)],
    process.env,
  );
}
