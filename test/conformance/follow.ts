import { createClient } from "../../sdk/client.ts";
import { followProcess } from "../../sdk/events.ts";
import { bytesOf, type Heard } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import type { Product } from "../support/product.ts";

/** Somebody who follows a process with the SDK: over breaks, to its end. */
export type Follower = {
  heard: Heard[];
  /** All output so far; each piece must begin where the one before ended. */
  text(): string;
  /** Resolves when a text was heard. */
  hears(text: string): Promise<void>;
  /** Resolves at the end of the stream. */
  ended: Promise<void>;
};

export function follow(product: Product, id: string): Follower {
  const heard: Heard[] = [];
  const client = createClient({ url: product.api.url, token: product.token });
  const read = async (): Promise<void> => {
    for await (const { type, ...data } of followProcess(client, id))
      if (type !== "ping") heard.push({ id: undefined, event: type, data });
    const last = heard.at(-1);
    if (last?.event !== "end") throw new Error(`the stream ended with ${JSON.stringify(last)}`);
  };
  const text = (): string => bytesOf(heard).toString();
  const ended = read();
  // Who waits for a text hears of a failure, too.
  const hears = (wanted: string): Promise<void> =>
    Promise.race([eventually(() => text().includes(wanted), 60_000), ended.then(() => undefined)]);
  return { heard, text, hears, ended };
}
