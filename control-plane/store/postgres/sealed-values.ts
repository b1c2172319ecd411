import type { SealedPlace, SealedValues } from "../sealed-values.ts";
import type { Sql } from "./client.ts";

const idOf: Record<SealedPlace, string> = { processes: "id", fanouts: "id", secrets: "name" };

export const sealedValueStore = (sql: Sql): SealedValues => ({
  async others(place, { mark, after, limit }) {
    const id = sql(idOf[place]);
    return [
      ...(await sql<{ id: string; sealed: Uint8Array }[]>`
        select ${id} as id, sealed from ${sql(place)}
        where sealed is not null and substring(sealed from 1 for ${mark.length}) <> ${mark} and ${id} > ${after}
        order by 1 limit ${limit}`),
    ];
  },

  async replace(place, { id, was, sealed }) {
    const { count } = await sql`
      update ${sql(place)} set sealed = ${sealed} where ${sql(idOf[place])} = ${id} and sealed = ${was}`;
    return count > 0;
  },
});
