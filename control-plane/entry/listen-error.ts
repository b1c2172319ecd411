import { SettingError } from "./settings.ts";

/** What a person can do about an address that cannot be listened on. */
export const listenError = (
  error: Error & { code?: string },
  { host, port }: { host: string; port: number },
): SettingError => {
  const cause = { cause: error };
  const another = "choose another with DROVER_PORT (--port)";
  if (error.code === "EADDRINUSE")
    return new SettingError(`port ${port} on ${host} is in use: ${another}`, cause);
  if (error.code === "EACCES")
    return new SettingError(`port ${port} may not be used by this user: ${another}`, cause);
  return new SettingError(
    `cannot listen on ${host}:${port} (${error.code ?? error.message}): see DROVER_HOST and DROVER_PORT`,
    cause,
  );
};
