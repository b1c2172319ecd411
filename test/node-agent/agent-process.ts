// The agent as a process of its own, for tests that signal, kill and restart it.
import { runAgent } from "../../node-agent/main.ts";

process.exitCode = await runAgent(process.argv.slice(2), process.env);
