// Old Node in front, own Node behind: two processes that live and die as one.
//
// Node has no exec before 23.11, so the old one starts the new one and stands for it:
//   - A signal to the one in front is passed on once. With a terminal both are in its foreground group, and what the
//     keyboard sends (INT, QUIT, HUP) reaches both by itself: only TERM is passed on. Without one the new process has
//     a group of its own, so that a signal to the group is not received twice either.
//   - The ending of the one behind, code or signal, becomes the ending of the one in front.
//   - When the one in front is gone without passing anything on (kill -9), the channel between them closes and the
//     one behind ends in the same way, at once.
// Plain JavaScript that any Node since 12 can parse.
import fs from "fs";
import os from "os";
import path from "path";
import tty from "tty";

const marker = "DROVER_OLD_NODE";
const needed = [22, 18];

/** Whether this version of Node runs the sources and the bundles. */
export function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

/** Runs the same command with the Node that is installed under `root`, and ends as it ends. */
export async function handOver(root) {
  const node = ownNode(root);
  if (node === undefined || process.env[marker]) return refuse(root);
  const { spawn } = await import("child_process");
  const hasTerminal = [0, 1, 2].some((fd) => tty.isatty(fd));
  const child = spawn(node, process.execArgv.concat(process.argv.slice(1)), {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    detached: !hasTerminal,
    env: Object.assign({}, process.env, { [marker]: process.version }),
  });
  ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"].forEach((signal) => {
    process.on(signal, () => {
      if (signal === "SIGTERM" || !hasTerminal) child.kill(signal);
    });
  });
  child.on("error", () => refuse(root));
  child.on("exit", endLike);
}

/** In the process behind: ends when the one in front is gone. */
export function shareFate() {
  if (!process.env[marker]) return;
  delete process.env[marker];
  if (!process.channel) return;
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  process.channel.unref();
}

function ownNode(root) {
  try {
    return fs.realpathSync(path.join(root, "node_modules", ".bin", "node"));
  } catch {
    return undefined; // not installed: refuse() says what to do
  }
}

function refuse(root) {
  const isCheckout = fs.existsSync(path.join(root, "package-lock.json"));
  const remedy = isCheckout ? ": run `npm ci` in " + root + " to install the one it brings" : "";
  process.stderr.write(
    "drover: needs Node " + needed.join(".") + " or newer, and this is " + process.version + remedy + "\n",
  );
  process.exit(2);
}

function endLike(code, signal) {
  if (signal === null) return process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Reached only where the signal does not end this process at once, or is ignored in it.
  setTimeout(() => process.exit(128 + (os.constants.signals[signal] || 0)), 1000);
}
