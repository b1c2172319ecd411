/* oxlint-disable import/no-nodejs-modules -- a script of developers, part of no runtime */
// Writes migrations.generated.ts from migrations/*.sql: runtimes without a disk apply them too.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "migrations");

/** The text that migrations.generated.ts must have. */
export function embeddedMigrations(): string {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  const entries = files.map((name) => {
    const sql = readFileSync(join(folder, name), "utf8");
    const hash = createHash("sha256").update(sql).digest("hex");
    return `  {\n    tag: ${JSON.stringify(name.slice(0, -4))},\n    hash: "${hash}",\n    sql: ${asTemplate(sql)},\n  },\n`;
  });
  return `// Written by drizzle/embed.ts from migrations/*.sql.\n\nexport type Migration = { tag: string; hash: string; sql: string };\n\nexport const migrations: readonly Migration[] = [\n${entries.join("")}];\n`;
}

const asTemplate = (text: string) => `\`${text.replace(/[\\`]|\$\{/g, (found) => `\\${found}`)}\``;

if (import.meta.main)
  writeFileSync(join(import.meta.dirname, "migrations.generated.ts"), embeddedMigrations());
