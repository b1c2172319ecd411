import type { Client, Query } from "../sdk/client.ts";
import { ask } from "./connection.ts";

type Page<T> = { data: T[]; nextCursor: string | null };

/** Everything a list holds, page by page, up to `most` entries. */
export async function listAll<T>(client: Client, path: string, query: Query, most = 10_000): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(200, most - all.length);
    const page: Page<T> = await ask<Page<T>>(client, `GET ${path}`, { query: { ...query, limit, cursor } });
    all.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && all.length < most);
  return all;
}
