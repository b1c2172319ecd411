import { InvalidArgumentError, Option, type Command } from "commander";
import { processBody, type LaunchOptions } from "../launch-options.ts";
import { count, duration, limit } from "../options.ts";
import { UsageError } from "../verb.ts";

export type FanoutOptions = LaunchOptions & {
  parallel?: number | string;
  canary?: number;
  stagger?: number;
  maxFailures?: number | string;
  expires?: number;
  detach?: boolean;
};

/** A number of nodes or a share of them, such as `3` or `25%`. */
export function share(text: string): number | string {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  if (/^\d{1,3}(\.\d+)?%$/.test(text)) return text;
  throw new InvalidArgumentError("Give a number of nodes or a share such as 25%.");
}

/** What can be said of the order of starts. */
export const withOrder = (command: Command): Command =>
  command
    .option("--parallel <n|n%>", "on how many nodes it runs at once (all)", share)
    .option("--canary <n>", "how many must succeed before it starts on any other", count)
    .option("--stagger <duration>", "how long to wait between two starts", duration)
    .option("--max-failures <n|n%>", "pause when it went wrong on so many", share)
    .option("--expires <duration>", "skip nodes that still wait after this time", limit)
    .option("-d, --detach", "print the id and leave it running")
    // Known only to be refused with a reason, by refuseLease.
    .addOption(new Option("--lease <id>").hideHelp());

/** A lease is of one node: a fan-out that took one would still be refused by all others. */
export function refuseLease({ lease }: LaunchOptions): void {
  if (lease !== undefined)
    throw new UsageError("--lease: a lease belongs to one node, not to many: use exec -n NODE --lease ID");
}

/** The body of `POST /v1/fanouts`. */
export const fanoutBody = (
  selector: string,
  words: string[],
  options: FanoutOptions,
): Record<string, unknown> => ({
  selector,
  process: processBody(words, options),
  parallel: options.parallel,
  canary: options.canary,
  staggerMs: options.stagger,
  maxFailures: options.maxFailures,
  expiresMs: options.expires,
  ifOffline: options.queue ? "queue" : undefined,
});
