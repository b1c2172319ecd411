import type { LocalBus, Topic } from "./bus.ts";

/**
 * A bus for one process. Subscribers look a moment after the change (in a microtask), once for many changes of
 * a topic made together; a subscriber that throws goes to `onFault` and disturbs no other.
 */
export function createMemoryBus(onFault: (fault: unknown) => void): LocalBus {
  const lookers = new Map<Topic, Set<() => void>>();
  const due = new Set<Topic>();

  const deliver = (topic: Topic): void => {
    due.delete(topic);
    const present = Array.from(lookers.get(topic) ?? []);
    for (const look of present) {
      // Looked up again: an earlier subscriber may have ended this subscription just now.
      if (lookers.get(topic)?.has(look) !== true) continue;
      try {
        look();
      } catch (fault) {
        onFault(fault);
      }
    }
  };

  const publish = (topic: Topic): void => {
    if (!lookers.has(topic) || due.has(topic)) return;
    due.add(topic);
    queueMicrotask(() => deliver(topic));
  };

  return {
    publish,
    publishAll() {
      for (const topic of lookers.keys()) publish(topic);
    },
    subscribe(topic, look) {
      // Wrapped, so that one function subscribed twice is two subscriptions.
      const own = (): void => look();
      const set = lookers.get(topic) ?? new Set();
      lookers.set(topic, set.add(own));
      return () => {
        set.delete(own);
        if (set.size === 0 && lookers.get(topic) === set) lookers.delete(topic);
      };
    },
  };
}
