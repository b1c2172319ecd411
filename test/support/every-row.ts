import postgres from "postgres";

/** Every value of every row of every table of a database, as text. */
export async function everything(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const tables = await sql<
      { name: string }[]
    >`select table_schema || '.' || quote_ident(table_name) as name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`;
    const rows = await Promise.all(
      tables.map(({ name }) => sql.unsafe<{ row: string }[]>(`select t::text as row from ${name} t`)),
    );
    return rows
      .flat()
      .map(({ row }) => row)
      .join("\n");
  } finally {
    await sql.end();
  }
}
