import { Telling } from "#shared/telling.ts";
import type { Log } from "../needs.ts";
import type { Notices } from "../store/cluster.ts";
import type { Bus, LocalBus, Topic } from "../bus/bus.ts";

/**
 * The bus of several control planes on one database. Subscribers of this process look at once; the others are told the topic by
 * a notice of the database, many topics in one. After a gap in listening everybody here looks.
 */
export type SharedBus = Bus & { close(): Promise<void> };

export type SharedBusNeeds = {
  local: LocalBus;
  notices: Notices;
  log: Log;
  /** The id of this instance. */
  self: string;
  /** Whether there is another instance to tell. */
  hasPeers(): boolean;
  /** Somebody of this id sent a notice. */
  onSender(sender: string): void;
  /** Listening began (again): what was missed is unknown. */
  onGap(): void;
};

export function createSharedBus(needs: SharedBusNeeds): SharedBus {
  const { local, notices, log, self } = needs;
  const telling = new Telling<Topic>(
    (topics) => notices.send(self, topics),
    (error, topics) => log.warn("bus.not_sent", { topics: topics.length, error }),
  );

  const listening = notices.listen({
    onTopics(sender, topics) {
      if (sender === self) return;
      needs.onSender(sender);
      for (const topic of topics) local.publish(topic as Topic);
    },
    onListening() {
      needs.onGap();
      local.publishAll();
    },
    onFailure: (error) => log.warn("bus.not_listening", { error }),
  });

  return {
    subscribe: (topic, look) => local.subscribe(topic, look),
    publish(topic) {
      local.publish(topic);
      if (needs.hasPeers()) void telling.tell(topic);
    },
    async close() {
      await telling.told();
      await listening.close();
    },
  };
}
