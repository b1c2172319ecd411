import type { Context } from "hono";
import { DroverError } from "#shared/errors.ts";
import { isId } from "#shared/ids.ts";
import type { AppEnv } from "./route.ts";

/** The id in the path; what has not the shape of one is no process and never reaches the database. */
export const processId = (c: Context<AppEnv>): string => {
  const id = c.req.param("id") ?? "";
  if (!isId("proc", id)) throw new DroverError("not_found", "there is no such process");
  return id;
};
