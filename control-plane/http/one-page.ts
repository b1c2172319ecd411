/** One page of a list: one row more than was asked for tells that there is a next one, which goes on behind the cursor. */
export const onePage = async <Row>(
  limit: number,
  read: (limit: number) => Promise<Row[]>,
  cursorOf: (row: Row) => string,
): Promise<{ page: Row[]; nextCursor: string | null }> => {
  const rows = await read(limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, nextCursor: rows.length > page.length && last !== undefined ? cursorOf(last) : null };
};
