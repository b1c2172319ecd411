import type { FanoutGroup } from "#shared/api/fanout.ts";
import { headTailView, type Truncated } from "#shared/output/head-tail.ts";
import type { Needs } from "../needs.ts";
import type { KeptOutput } from "../store/store.ts";

const maxGroups = 100;
const maxNames = 100;
/** Of the output of one group, from its start and from its end. */
const textBytes = 4096;

/** What the ended nodes wrote, each different output once, the most frequent first. */
export const groupsOf = async (
  needs: Needs,
  id: string,
): Promise<{ groups: FanoutGroup[]; groupCount: number }> => {
  const { groups, groupCount } = await needs.store.fanouts.groups(id, { groups: maxGroups, names: maxNames });
  const kept = await needs.store.fanouts.kept(groups.map(({ processId }) => processId));
  return {
    groupCount,
    groups: groups.map(({ processId, ...group }) => ({ ...group, ...textOf(kept.get(processId) ?? []) })),
  };
};

const textOf = (streams: KeptOutput[]): { text: string; truncated: Truncated | null } => {
  const views = streams.map((stream) =>
    headTailView({ ...stream, headBytes: textBytes, tailBytes: textBytes }),
  );
  const originalBytes = streams.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  const omittedBytes = views.reduce((sum, { truncated }) => sum + (truncated?.omittedBytes ?? 0), 0);
  const retainedBytes = originalBytes - omittedBytes;
  return {
    text: views.map(({ text }) => text).join(""),
    truncated:
      omittedBytes === 0
        ? null
        : { originalBytes, retainedBytes, omittedBytes, cutLines: 0, strategy: "head_tail" },
  };
};
