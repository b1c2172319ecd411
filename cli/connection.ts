import type { Command } from "commander";
import { createClient, type Client, type RequestOptions } from "../sdk/client.ts";
import type { Answer } from "../sdk/failure.ts";
import { exitCodeOfFailure } from "./exit-code.ts";
import { profilesPath, readProfile, type Profile } from "./profile.ts";
import { Failed, UsageError } from "./verb.ts";

type ConnectionOptions = { url?: string; token?: string; profile?: string };

/** The options of every verb that talks to a control plane. */
export const withConnection = (command: Command): Command =>
  command
    .option("--url <url>", "the control plane (else DROVER_URL, else the saved profile)")
    .option("--token <token>", "what to sign in with (else DROVER_TOKEN, else the saved profile)")
    .option("--profile <name>", "a saved profile (else the current one, else `local`)");

/** The control plane this call is about, by flag, then environment, then saved profile. */
export async function connect(command: Command): Promise<Client> {
  // Of the verb above, too: `drover nodes --url U drain web-1`.
  const options = command.optsWithGlobals<ConnectionOptions>();
  const { url, token } = await resolveConnection(options, process.env);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`the URL of the control plane must look like http://host:port, not ${url}`);
  return createClient({ url, token });
}

/** Exported for its rules: a profile's token is never sent to any place but that profile's own. */
export async function resolveConnection(
  options: ConnectionOptions,
  env: Record<string, string | undefined>,
): Promise<Profile> {
  const saved = await savedProfile(options.profile, env);
  const url = options.url ?? (options.profile === undefined ? env["DROVER_URL"] : undefined) ?? saved?.url;
  const ownToken = saved !== undefined && bare(url ?? "") === bare(saved.url) ? saved.token : undefined;
  const token =
    options.token ?? (options.profile === undefined ? env["DROVER_TOKEN"] : undefined) ?? ownToken;
  if (url === undefined)
    throw new UsageError(
      "no control plane is known: start one with `drover up`, or give --url or DROVER_URL",
    );
  if (token === undefined) throw new UsageError(`no token for ${url}: give --token or DROVER_TOKEN`);
  return { url, token };
}

const bare = (url: string): string => url.replace(/\/+$/, "");

async function savedProfile(name: string | undefined, env: Record<string, string | undefined>) {
  const path = profilesPath(env);
  const profile = await readProfile(path, name);
  if (name !== undefined && profile === undefined) throw new UsageError(`no profile ${name} in ${path}`);
  return profile;
}

/** The value of a request, or the end of the verb with one line and the right code. */
export async function ask<T>(client: Client, call: string, options?: RequestOptions): Promise<T> {
  const [method = "GET", path = "/"] = call.split(" ");
  return valueOf(await client.request<T>(method, path, options));
}

export function valueOf<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value;
  throw new Failed(answer.failure.message, exitCodeOfFailure(answer.failure));
}
