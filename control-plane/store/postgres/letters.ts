// Letters and notices between instances. Neither writes to the log of the database (the table is unlogged), so sending
// one waits for no disk. A notice is one payload of at most `maxPayload` bytes on one channel: `<sender>\n<topic>\n<topic>…`.

import type { Letter, Letters, Notices } from "../cluster.ts";
import type { DatabaseOptions, Sql } from "./client.ts";
import { isAlive } from "./instances.ts";
import { listenOn } from "./listen.ts";

const channel = "drover";
/** Postgres refuses a payload of 8,000 bytes. */
const maxPayload = 7000;

/** Nobody waits any more for what an older letter asks: a recipient that stood still must not do it now. */
const freshMs = 30_000;

export const letterStore = (sql: Sql): Letters => ({
  async send(sender, letters) {
    if (letters.length === 0) return;
    const recipients = letters.map(({ recipient }) => recipient);
    const bodies = letters.map(({ body }) => body);
    await sql`
      with sent as (
        insert into relay (recipient, sender, body, sent_at)
        select recipient, ${sender}, body, now()
        from unnest(${recipients}::text[], ${bodies}::text[]) with ordinality as each (recipient, body, place)
        order by place returning recipient)
      select pg_notify(${channel}, ${sender} || E'\nletters:' || recipient) from (select distinct recipient from sent) told`;
  },

  async sendToHolder(sender, { nodeId, body }) {
    const [sent] = await sql<{ recipient: string }[]>`
      with sent as (
        insert into relay (recipient, sender, body, sent_at)
        select held_by, ${sender}, ${body}, now() from nodes
        where id = ${nodeId} and held_by <> ${sender} and ${isAlive(sql, sql`held_by`)}
        returning recipient)
      select recipient, pg_notify(${channel}, ${sender} || E'\nletters:' || recipient) from sent`;
    return sent?.recipient;
  },

  async take(recipient, limit) {
    const taken = await sql<(Letter & { id: number; fresh: boolean })[]>`
      delete from relay where id in (select id from relay where recipient = ${recipient} order by id limit ${limit})
      returning id, sender, body, sent_at > now() - ${freshMs} * interval '1 millisecond' as fresh`;
    const letters = taken
      .filter(({ fresh }) => fresh)
      .toSorted((one, other) => one.id - other.id)
      .map(({ sender, body }) => ({ sender, body }));
    return { letters, more: taken.length === limit };
  },
});

export const noticeStore = (sql: Sql, options: DatabaseOptions): Notices => ({
  send: async (sender, topics) => {
    const payloads = payloadsOf(sender, topics);
    if (payloads.length > 0)
      await sql`select pg_notify(${channel}, payload) from unnest(${payloads}::text[]) payload`;
  },

  listen: ({ onTopics, onListening, onFailure }) =>
    listenOn(channel, options, {
      onListening,
      onFailure,
      onPayload(payload) {
        const [sender = "", ...topics] = payload.split("\n");
        onTopics(sender, topics);
      },
    }),
});

/** Topics are ids and short words, so a payload holds many. */
function payloadsOf(sender: string, topics: string[]): string[] {
  const payloads: string[] = [];
  let payload = "";
  for (const topic of topics) {
    if (payload !== "" && payload.length + topic.length >= maxPayload) {
      payloads.push(payload);
      payload = "";
    }
    payload = `${payload === "" ? sender : payload}\n${topic}`;
  }
  return payload === "" ? payloads : [...payloads, payload];
}
