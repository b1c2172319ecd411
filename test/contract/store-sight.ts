import { describe, expect, it } from "vitest";
import { newId } from "#shared/ids.ts";
import { matchesSelector, parseSelector, type Selector } from "#shared/selector.ts";
import type { Sight } from "../../control-plane/store/store.ts";
import { fanoutSamples } from "./fanout-samples.ts";
import {
  after,
  enrolledNode,
  eventsBegin,
  inserted,
  settledEvents,
  type OpenStore,
} from "./store-samples.ts";

const selectorOf = (text: string): Selector => {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.selector;
};

/** What somebody sees of the fleet is decided in the database, by the same rules as everywhere else. */
export function sightContract(store: OpenStore): void {
  const mark = newId("node").slice(-8);

  describe("a sight", () => {
    const labels: Record<string, string>[] = [
      {},
      { env: "prod", zone: "a" },
      { env: "prod", zone: "b", gpu: "" },
      { env: "dev", name: "not its name" },
      { env: "100%", zone: "a_b" },
      { env: "100x", zone: "axb" },
      { "a.b/c": "é", env: "back\\slash" },
    ];
    const selectors = [
      ...[
        "*",
        "env=prod",
        "env!=prod",
        "env==prod",
        "env=",
        "env!=",
        "env=p*",
        "env=???",
        "env=100%",
        "env=100?",
      ],
      ...["zone in (a,b)", "zone notin (a, b)", "zone=a_b", "zone=a?b", "gpu", "!gpu", "gpu=", "!env"],
      ...[
        `name=${mark}-1`,
        `name!=${mark}-1`,
        `name in (${mark}-0,${mark}-2)`,
        `${mark}-*`,
        `${mark}-?`,
        "*-1",
      ],
      ...[
        "env=prod,zone=a",
        "env=prod,!gpu",
        `${mark}-*,zone`,
        "a.b/c=é",
        "a.b/c=?",
        String.raw`env=back\slash`,
      ],
    ];

    it.each(selectors)("by %j shows the nodes that the selector matches, and no others", async (text) => {
      const made = await Promise.all(
        labels.map((each, at) =>
          enrolledNode(store(), { name: `${mark}-${at}-${newId("node").slice(-6)}`, labels: each }),
        ),
      );
      const selector = selectorOf(text);
      const wanted = made.filter((node) => matchesSelector(selector, node)).map(({ id }) => id);
      const found = await Promise.all(made.map(({ id }) => store().nodes.find(id, { selector })));
      expect(found.flatMap((node) => node?.id ?? [])).toEqual(wanted);
      const listed = await store().nodes.list({ limit: 10_000, within: { selector } });
      const ids = new Set(made.map(({ id }) => id));
      expect(listed.map(({ id }) => id).filter((id) => ids.has(id))).toEqual(wanted.toSorted().toReversed());
    });

    it("shows processes on nodes that it shows, or of its chat, and of several bounds what all hold for", async () => {
      const label = newId("node").slice(-10);
      const [here, there] = [
        await enrolledNode(store(), { labels: { team: label } }),
        await enrolledNode(store()),
      ];
      const [chatId, other] = [newId("chat"), newId("chat")];
      const on = async (nodeId: string, chat: string | null) =>
        (await inserted(store(), { nodeId, launch: { chatId: chat } })).id;
      const [plain, chatHere, chatThere] = [
        await on(here.id, null),
        await on(here.id, chatId),
        await on(there.id, chatId),
      ];
      const selector = selectorOf(`team=${label}`);
      const sights: [Sight, string[]][] = [
        [{ selector }, [plain, chatHere]],
        [{ chatId }, [chatHere, chatThere]],
        [{ selector, chatId }, [chatHere]],
        [{ chatId: other }, []],
        [{ tasks: [newId("task")] }, []],
        [{ selector, tasks: [newId("task")] }, []],
      ];
      for (const [within, seen] of sights) {
        const ids = [plain, chatHere, chatThere];
        const got = await Promise.all(ids.map((id) => store().processes.get(id, within)));
        expect(got.flatMap((row) => row?.id ?? [])).toEqual(seen);
        const listed = await store().processes.list({ limit: 10_000, within });
        expect(listed.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(seen.toReversed());
      }
      // Whoever is confined sees no node, not even that of its processes.
      expect(await store().nodes.find(here.id, { selector, chatId })).toBeUndefined();
    });

    it("shows of events those of its nodes, also that one was deleted, and where to go on behind the others", async () => {
      const label = newId("node").slice(-10);
      const within = { selector: selectorOf(`team=${label}`) };
      const begin = await eventsBegin(store());
      const here = await enrolledNode(store(), { labels: { team: label } });
      const there = await enrolledNode(store());
      await store().nodes.delete(here.id, after(1));
      await store().nodes.delete(there.id, after(2));
      const told = (await settledEvents(store(), begin)).filter(({ nodeId }) => nodeId === there.id);
      expect(told.map(({ type }) => type)).toEqual(["node.enrolled", "node.deleted"]);
      const page = await store().events.after(begin, 100, within);
      if (page === "expired") throw new Error(page);
      // The node is gone, and with it what it was when it was enrolled.
      expect(page.events).toMatchObject([{ type: "node.deleted", nodeId: here.id, at: after(1) }]);
      expect(page.upTo.id).toBeGreaterThanOrEqual(told.at(-1)?.position.id ?? Infinity);
      expect(await store().events.after(page.upTo, 100, within)).toMatchObject({ events: [], isLast: true });
      const first = await store().events.after(begin, 1, within);
      expect(first).toMatchObject({ events: [], isLast: false });
    });

    it("shows of a fan-out what is on its nodes, in its counts, too, and whether that is all", async () => {
      const label = newId("node").slice(-10);
      const [here, there] = [
        await enrolledNode(store(), { labels: { team: label } }),
        await enrolledNode(store()),
      ];
      const within = { selector: selectorOf(`team=${label}`) };
      const create = async (nodes: { id: string; name: string }[]) =>
        (await fanoutSamples(store).made({ nodes })).id;
      const [both, mine, others] = [await create([there, here]), await create([here]), await create([there])];
      expect(await store().fanouts.get(both, within)).toMatchObject({ id: both, counts: { waiting: 1 } });
      expect(await store().fanouts.get(both)).toMatchObject({ counts: { waiting: 2 } });
      expect(await store().fanouts.get(others, within)).toBeUndefined();
      const listed = await store().fanouts.list({ limit: 200, within });
      expect(listed.map(({ id }) => id)).toEqual([mine, both].toSorted().toReversed());
      expect(await store().fanouts.nodes(both, { limit: 10, within })).toMatchObject([
        { nodeId: here.id, position: 1 },
      ]);
      expect(await store().fanouts.isWithin(both, within)).toBe(false);
      expect(await store().fanouts.isWithin(mine, within)).toBe(true);
      expect(await store().fanouts.get(both, { chatId: newId("chat") })).toBeUndefined();
    });
  });
}
