import type { Context } from "hono";
import type { AppEnv } from "./route.ts";

const mapped = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Where a request came from, as the door of this runtime knows it; IPv4 is written as such. Null where it does not. */
export const addressOf = (c: Context<AppEnv>): string | null =>
  // A test may call the app without a door.
  c.env?.address?.replace(mapped, "") ?? null;
