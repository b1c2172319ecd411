// The agent of `up`: a child in a session of its own, so that Ctrl-C reaches it only through us. When it dies it is
// started again after a growing pause, and adopts the processes that lived on. Code 2 is what a person must mend: that
// is told and not tried again.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "#shared/backoff.ts";
import { tell } from "../write.ts";

const pauses = { baseMs: 500, maxMs: 30_000 };
const steadyMs = 60_000;
const leaveAgainMs = 100;

export type AgentSettings = {
  url: string;
  name: string;
  agentDir: string;
  joinToken: string | undefined;
  /** Told the pid of each agent that is started. */
  onStart(pid: number): Promise<void>;
};

/** What became of the processes when the agent stopped; undefined where it could not say. */
export type Stopped = { stopped: number; leftRunning: number } | undefined;

export class AgentProcess {
  readonly #settings: AgentSettings;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #stopped: Stopped;
  /** Settles when the agent is gone for good, with its exit code. */
  readonly ended: Promise<number>;

  constructor(settings: AgentSettings) {
    this.#settings = settings;
    this.ended = this.#keepAlive();
  }

  /** Ends the agent and its processes with their grace. */
  async stop(): Promise<Stopped> {
    this.#stopping.abort();
    this.#child?.kill("SIGTERM");
    await this.ended;
    return this.#stopped;
  }

  /**
   * Lets the agent that is ending them leave those that still run. It takes signals close to the first for the same wish, so
   * it is told until it has heard.
   */
  async leave(): Promise<void> {
    let isGone = false;
    void this.ended.then(() => (isGone = true));
    while (!isGone) {
      this.#child?.kill("SIGTERM");
      await delay(leaveAgainMs);
    }
  }

  async #keepAlive(): Promise<number> {
    const signal = this.#stopping.signal;
    for (let failures = 0; ; failures++) {
      const startedAt = performance.now();
      const code = await this.#runOnce();
      if (signal.aborted || code === 2) return code;
      if (performance.now() - startedAt > steadyMs) failures = 0;
      const ms = pauses.baseMs + backoffMs(failures, Math.random, pauses);
      await tell(
        `drover: the agent ended (${code}); starting it again in ${(ms / 1000).toFixed(1)} s, its processes live on`,
      );
      // Cut short by a stop: then there is nothing left to end.
      await delay(ms, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return code;
    }
  }

  async #runOnce(): Promise<number> {
    const { url, name, agentDir, joinToken, onStart } = this.#settings;
    const words = ["agent", "--url", url, "--name", name, "--data-dir", agentDir, "--stop-processes"];
    const child = spawn(process.execPath, [process.argv[1] ?? "", ...words], {
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      env: agentEnvironment(joinToken),
    });
    this.#child = child;
    this.#stopped = undefined;
    // Not `exit`: by then its last words need not have been read.
    const gone = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
    if (child.pid !== undefined) await onStart(child.pid);
    if (this.#stopping.signal.aborted) child.kill("SIGTERM");
    if (child.stderr !== null)
      createInterface({ input: child.stderr }).on("line", (line) => void this.#hear(line));
    const [code] = await gone;
    return code ?? 1;
  }

  async #hear(line: string): Promise<void> {
    const event = parseEvent(line);
    if (event?.event === "agent.stopped" && event.stopped !== undefined)
      this.#stopped = { stopped: event.stopped, leftRunning: event.leftRunning ?? 0 };
    if (event === undefined || process.env["DROVER_LOG"] === "json") await tell(line);
    else if (event.level !== "info") await tell(`agent: ${line}`);
  }
}

// Nothing of the control plane's secrets is the agent's business; the join token is used once.
const withheld = ["DROVER_ADMIN_TOKEN", "DROVER_SECRET_KEY", "DROVER_TOKEN", "DATABASE_URL"];

function agentEnvironment(joinToken: string | undefined): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !withheld.includes(name));
  const invited = joinToken === undefined ? {} : { DROVER_JOIN_TOKEN: joinToken };
  return { ...Object.fromEntries(kept), DROVER_LOG: "json", ...invited };
}

type AgentEvent = { level: string; event: string; stopped?: number; leftRunning?: number };

function parseEvent(line: string): AgentEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "event" in value
      ? (value as AgentEvent)
      : undefined;
  } catch {
    // A plain line: what the agent says to people.
    return undefined;
  }
}
