import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Closes what the agent inherited beyond stdin, stdout and stderr and would pass on to every command: descriptors without
 * close-on-exec (Node opens its own with it). A lock or a pipe of whoever started the agent would else be held for as long
 * as any command lives.
 */
export const closeInheritedFds = (): void => {
  let fds: number[];
  try {
    fds = readdirSync("/proc/self/fd")
      .map(Number)
      .filter((fd) => fd > 2);
  } catch {
    // No /proc: nothing tells what is open.
    return;
  }
  for (const fd of fds) if (isInherited(fd)) closeSync(fd);
};

const isInherited = (fd: number): boolean => {
  try {
    const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The descriptor of the listing itself, closed by now.
    return false;
  }
};
