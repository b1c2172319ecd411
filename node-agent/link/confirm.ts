import { setTimeout as pause } from "node:timers/promises";
import { backoffMs } from "#shared/backoff.ts";
import { keysOf, type Identity } from "../identity.ts";
import type { Log } from "../log.ts";
import { helloOf, type Greeting } from "./hello.ts";
import { openSession } from "./session.ts";
import { linkTimes, type SocketEnd } from "./socket.ts";
import { tryKeys } from "./try-keys.ts";
import { verdictOf } from "./verdict.ts";

type ConfirmNeeds = { identity: Identity; greeting: Greeting; log: Log; signal: AbortSignal };

/**
 * Asks the control plane whether this node may be us, before anything on this machine is touched.
 *
 * For a data folder that was copied or moved: its records name processes that may belong to the agent it was copied
 * from. Answers undefined when we are welcome, else why not; tries until there is an answer or `signal` aborts.
 */
export async function confirmIdentity(needs: ConfirmNeeds): Promise<string | undefined> {
  const { log, signal } = needs;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    const { end, isWelcome } = await tryKeys(keysOf(needs.identity), signal, (key) => greetOnce(needs, key));
    if (isWelcome) return undefined;
    const verdict = verdictOf(end);
    if (verdict.next === "stop") return verdict.why;
    const retryInMs = Math.round(backoffMs(attempt, Math.random, { baseMs: 250, maxMs: 30_000 }));
    log.warn("identity.unconfirmed", { why: verdict.why, retryInMs });
    await pause(retryInMs, undefined, { signal });
  }
}

function greetOnce(
  { identity, greeting, signal }: ConfirmNeeds,
  key: string,
): Promise<{ end: SocketEnd; isWelcome: boolean }> {
  return new Promise((resolve) => {
    let isWelcome = false;
    const leave = () => socket.close(1000, "");
    const socket = openSession({
      url: identity.url,
      authorization: `Bearer ${identity.nodeId}.${key}`,
      times: linkTimes,
      hello: () => ({ ...helloOf(greeting, []), asks: true }),
      onLive: () => {
        isWelcome = true;
        leave();
      },
      onFrame: () => undefined,
      onEnd: (end) => {
        signal.removeEventListener("abort", leave);
        resolve({ end, isWelcome });
      },
    });
    signal.addEventListener("abort", leave, { once: true });
  });
}
