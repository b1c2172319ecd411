// What somebody sees, as conditions: whoever lists or finds something for them adds one of these to its `where`. Without a
// sight everything is seen.

import type { Selector, Term } from "#shared/selector.ts";
import type { Sight } from "../sight.ts";
import type { Sql } from "./client.ts";

type Fragment = ReturnType<typeof all>;

/** Where name and labels of a node are found. */
type NodeColumns = { name: Fragment; labels: Fragment };

const all = (sql: Sql) => sql`true`;

const isConfined = ({ chatId, tasks }: Sight): boolean => chatId !== undefined || tasks !== undefined;

/** Of a row of `nodes`, or of another place that has name and labels. */
export const seesNode = (
  sql: Sql,
  sight: Sight | undefined,
  columns: NodeColumns = { name: sql`nodes.name`, labels: sql`nodes.labels` },
): Fragment => {
  if (sight === undefined) return all(sql);
  return isConfined(sight) ? sql`false` : matches(sql, sight.selector, columns);
};

/** Of a row of `processes`. No process belongs to a run of a task. */
export const seesProcess = (sql: Sql, sight: Sight | undefined): Fragment => {
  if (sight === undefined) return sql`true`;
  const { selector, chatId, tasks } = sight;
  return sql`(
    ${selector === undefined ? sql`true` : isOnNode(sql, { selector }, sql`processes.node_id`)}
    and ${chatId === undefined ? sql`true` : sql`processes.chat_id = ${chatId}`}
    and ${tasks === undefined ? sql`true` : sql`false`})`;
};

/** Of a row of `fanout_nodes`. */
export const seesFanoutNode = (sql: Sql, sight: Sight | undefined): Fragment =>
  sight === undefined ? sql`true` : isOnNode(sql, sight, sql`fanout_nodes.node_id`);

/** Of a row of `fanouts`: one that has a node which is seen. */
export const seesFanout = (sql: Sql, sight: Sight | undefined): Fragment =>
  sight === undefined
    ? sql`true`
    : sql`exists (select from fanout_nodes where fanout_id = fanouts.id and ${seesFanoutNode(sql, sight)})`;

/** Of a row of `events`. That a node was deleted is told of by what it was. */
export const seesEvent = (sql: Sql, sight: Sight | undefined): Fragment => {
  if (sight === undefined) return sql`true`;
  const columns = { name: sql`(data ->> 'name')`, labels: sql`(data -> 'labels')` };
  return sql`(${isOnNode(sql, sight, sql`events.node_id`)}
    or (type = 'node.deleted' and ${seesNode(sql, sight, columns)}))`;
};

const isOnNode = (sql: Sql, sight: Sight, nodeId: Fragment): Fragment =>
  sql`exists (select from nodes where nodes.id = ${nodeId} and ${seesNode(sql, sight)})`;

/** The selector as a condition: the same as `matchesSelector`. */
const matches = (sql: Sql, selector: Selector = [], columns: NodeColumns): Fragment =>
  selector.reduce((before, term) => sql`${before} and ${holds(sql, term, columns)}`, all(sql));

const holds = (sql: Sql, term: Term, { name, labels }: NodeColumns): Fragment => {
  switch (term.kind) {
    case "all":
      return sql`true`;
    case "glob":
      return sql`${name} like ${likeOf(term.pattern)}`;
    case "exists":
      return sql`(${labels} ->> ${term.key}::text is not null) = ${term.wanted}::boolean`;
    case "in": {
      const own = term.key === "name" ? name : sql`(${labels} ->> ${term.key}::text)`;
      return sql`coalesce(${own} like any(${term.values.map(likeOf)}), false) = ${term.wanted}::boolean`;
    }
  }
};

const signs: Record<string, string> = { "*": "%", "?": "_" };

/** A glob as a pattern of `like`. */
const likeOf = (glob: string): string => glob.replaceAll(/[*?%_\\]/g, (sign) => signs[sign] ?? `\\${sign}`);
