import type { Launch } from "#shared/link/launch.ts";
import type { Needs } from "../needs.ts";
import { CannotOpen } from "./seal.ts";
import type { EnvWithSecrets } from "./sealed-part.ts";

/**
 * From names of secrets to their values, at the moment when a start is sent: one that waited gets the value of that time.
 * A value is in memory from here to the frame, in no row, and its like is hidden in every line of this control plane's log.
 */
export type ResolvedEnv = Pick<Launch, "env" | "masks">;
/** Why a start cannot have its secrets; `variable` is where it asked for one. */
export type SecretProblem = {
  problem: "secret_not_found" | "secret_unreadable";
  variable: string;
  detail: string;
};

/** What the sealed value of a secret is bound to. */
export const secretContext = (name: string): string => `secret:${name}`;

export const resolveEnv = async (
  needs: Pick<Needs, "store" | "seal" | "log">,
  env: EnvWithSecrets,
): Promise<ResolvedEnv | SecretProblem> => {
  const named = Object.entries(env).flatMap(([variable, value]) =>
    typeof value === "string" ? [] : [{ variable, name: value.secret }],
  );
  const plain = Object.entries(env).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  if (named.length === 0) return { env: Object.fromEntries(plain) };
  const sealed = await needs.store.secrets.sealed([...new Set(named.map(({ name }) => name))]);
  const values: [variable: string, value: string][] = [];
  for (const { variable, name } of named) {
    const found = sealed.get(name);
    if (found === undefined) return missing(variable, name);
    const value = await valueOf(needs, name, found);
    if (typeof value !== "string") return unreadable(variable, name, value);
    values.push([variable, value]);
  }
  return {
    env: Object.fromEntries([...plain, ...values]),
    masks: [...new Set(values.map(([, value]) => value))],
  };
};

const valueOf = async (
  { seal, log }: Pick<Needs, "seal" | "log">,
  name: string,
  sealed: Uint8Array,
): Promise<string | CannotOpen> => {
  try {
    const value = await seal.open(sealed, secretContext(name));
    log.hide(value);
    return value;
  } catch (error) {
    if (error instanceof CannotOpen) return error;
    throw error;
  }
};

const missing = (variable: string, name: string): SecretProblem => ({
  problem: "secret_not_found",
  variable,
  detail: `env.${variable}: there is no secret named ${name}`,
});

const unreadable = (variable: string, name: string, { message }: CannotOpen): SecretProblem => ({
  problem: "secret_unreadable",
  variable,
  detail: `env.${variable}: the secret ${name} cannot be opened: ${message}; or set it again`,
});
