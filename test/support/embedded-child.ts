// A control plane reduced to its database: starts it, says so in one JSON line, and waits for its end.
// Run as a process of its own by tests that kill it, race it, or run it as another user.

import { startEmbeddedPostgres } from "../../control-plane/store/embedded/start.ts";

const [dataDir = "", arch] = process.argv.slice(2);
if (arch) Object.defineProperty(process, "arch", { value: arch });

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  const server = await startEmbeddedPostgres({ dataDir, durable: false, log: { info: () => {} } });
  say({ url: server.url, adopted: server.adopted });
  process.stdin.resume().once("end", () => void server.stop().then(() => say({ stopped: true })));
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  say({ code, message });
}
