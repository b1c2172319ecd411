import type { Log } from "../needs.ts";
import type { Notices } from "../store/cluster.ts";
import type { Bus, LocalBus, Topic } from "../bus/bus.ts";

/**
 * The bus of several control planes on one database. Subscribers of this process look at once; the others are told the topic by
 * a notice of the database, many topics in one. One sending is on its way at a time and topics gather meanwhile, so a
 * burst costs few statements. A notice that cannot be sent is dropped: notices are hints. After a gap in listening
 * everybody here looks.
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
  const due = new Set<Topic>();
  let sending: Promise<void> | undefined;

  const sendAll = async (): Promise<void> => {
    while (due.size > 0) {
      const topics = [...due];
      due.clear();
      // What is sent together is gathered in this turn of the event loop and while the last sending is on its way.
      await notices
        .send(self, topics)
        .catch((error: unknown) => log.warn("bus.not_sent", { topics: topics.length, error }));
    }
    sending = undefined;
  };

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
      if (!needs.hasPeers()) return;
      due.add(topic);
      sending ??= Promise.resolve().then(sendAll);
    },
    async close() {
      await sending;
      await listening.close();
    },
  };
}
