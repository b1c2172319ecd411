import { spawn } from "node:child_process";

/** What Drover is compared with: Node's own spawn, with its default pipes read to their end. */
export function plainSpawn(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args);
    const out: Buffer[] = [];
    child.stdin.end();
    child.stdout.on("data", (bytes: Buffer) => out.push(bytes));
    child.stderr.resume();
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0
        ? resolve(Buffer.concat(out).toString())
        : reject(new Error(`${program} ended with ${code}`)),
    );
  });
}
