import { defineConfig } from "drizzle-kit";

// After `drizzle-kit generate`, `node drizzle/embed.ts` puts the SQL into migrations.generated.ts.
export default defineConfig({
  dialect: "postgresql",
  schema: "./drizzle/schema.ts",
  out: "./drizzle/migrations",
});
