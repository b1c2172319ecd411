import { maxTextBytes } from "#shared/api/common.ts";
import { DroverError, invalid } from "#shared/errors.ts";
import { isConfined } from "./within-scope.ts";
import { resolveEnv, type ResolvedEnv } from "../secrets/resolve-env.ts";
import type { EnvWithSecrets } from "../secrets/sealed-part.ts";
import type { Needs } from "../needs.ts";

/** The environment of a start with the values of its secrets; refuses one whose secrets are not to be had. */
export const requireSecrets = async (
  needs: Pick<Needs, "store" | "seal" | "log" | "within">,
  env: EnvWithSecrets = {},
): Promise<ResolvedEnv> => {
  const named = Object.entries(env).find(([, value]) => typeof value !== "string");
  if (named !== undefined && isConfined(needs.within))
    throw new DroverError(
      "forbidden",
      "a token that is confined to a chat or to tasks may not name secrets",
      {
        field: `env.${named[0]}`,
      },
    );
  const resolved = await resolveEnv(needs, env);
  if ("problem" in resolved)
    throw new DroverError(resolved.problem, resolved.detail, { field: `env.${resolved.variable}` });
  const length = resolved.masks === undefined ? 0 : JSON.stringify(resolved.env).length;
  if (length > maxTextBytes)
    throw invalid([
      { path: "env", message: `must be at most ${maxTextBytes} bytes together with its secrets` },
    ]);
  return resolved;
};
