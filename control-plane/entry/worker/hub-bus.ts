import { Telling } from "#shared/telling.ts";
import type { Bus, LocalBus, Topic } from "../../bus/bus.ts";
import type { Log } from "../../needs.ts";
import { HubLine as Line } from "./hub-line.ts";
import type { HubPort } from "./hub-port.ts";

/**
 * The bus of one request or object: subscribers here look at once, all others by way of the hub.
 *
 * A line to the hub is open while anybody listens.
 */
export type HubBusNeeds = {
  local: LocalBus;
  hub: HubPort;
  log: Log;
  /** The node whose object publishes. */
  sender?: () => string | undefined;
  keep(work: Promise<unknown>): void;
};

export class HubBus implements Bus {
  readonly #needs: HubBusNeeds;
  readonly #telling: Telling<Topic>;
  readonly #counts = new Map<Topic, number>();
  #line: Line | undefined;

  constructor(needs: HubBusNeeds) {
    this.#needs = needs;
    this.#telling = new Telling(
      (topics) => needs.hub.publish(topics, needs.sender?.()),
      (error) => needs.log.warn("bus.not_sent", { error }),
    );
  }

  publish(topic: Topic): void {
    this.#needs.local.publish(topic);
    this.#needs.keep(this.#telling.tell(topic));
  }

  subscribe(topic: Topic, look: () => void): () => void {
    const end = this.#needs.local.subscribe(topic, look);
    const count = this.#counts.get(topic) ?? 0;
    this.#counts.set(topic, count + 1);
    if (count === 0) this.#join(topic);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      end();
      this.#leave(topic);
    };
  }

  /** Ends the line, whoever still listens. All of it is begun before this returns. */
  close(): void {
    this.#line?.close();
    this.#line = undefined;
  }

  #join(topic: Topic): void {
    if (this.#line === undefined) this.#line = new Line(this.#needs, () => [...this.#counts.keys()]);
    else this.#line.watch([topic]);
  }

  #leave(topic: Topic): void {
    const count = (this.#counts.get(topic) ?? 1) - 1;
    if (count > 0) return void this.#counts.set(topic, count);
    this.#counts.delete(topic);
    if (this.#counts.size === 0) this.close();
    else this.#line?.unwatch([topic]);
  }
}
