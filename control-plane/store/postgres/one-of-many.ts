import { gathered } from "#shared/gathered.ts";

/** Rows that are looked up at the same time, such as those of a fleet that comes back, are looked up together. */
export const oneOfMany = <A>(
  find: (ids: string[]) => Promise<Map<string, A>>,
): ((id: string) => Promise<A | undefined>) =>
  gathered({
    lanes: 4,
    weigh: () => 1 / 500,
    async ask(ids) {
      const found = await find(ids);
      return ids.map((id) => found.get(id));
    },
  });
