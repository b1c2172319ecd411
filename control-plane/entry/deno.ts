// The control plane on Deno, as a program: `deno task start`, or the entry point on Deno Deploy. Settings come from the
// environment only. SIGINT or SIGTERM ends it in order, within the five seconds that Deno Deploy grants.

import { startOn, type ControlPlane } from "./control-plane.ts";
import { openDoor } from "./deno/door.ts";
import { deno, isAllAllowed, isAllowed } from "./deno/runtime.ts";
import { isForPeople, SettingError, settingsFromEnv } from "./settings.ts";

const endWithinMs = 4500;

const place = (): string =>
  `${isAllowed({ name: "sys", kind: "hostname" }) ? deno.hostname() : "deno"}:${deno.pid}`;

const start = async (): Promise<ControlPlane> => {
  const settings = settingsFromEnv(process.env);
  // It has to start programs, which are bound by no permission, and to tell by /proc which process is which.
  if (settings.databaseUrl === undefined && !isAllAllowed())
    throw new SettingError(
      "set DATABASE_URL to a Postgres 15 or later; to bring a Postgres of its own, Drover needs --allow-all",
    );
  return startOn({ openDoor, place: place() }, settings);
};

// Deno names the flag that is missing.
const isMissingFlag = (error: unknown): error is Error =>
  error instanceof Error && error.name === "NotCapable";

const refuse = ({ message }: Error): never => {
  console.error(`drover: ${message}`);
  return deno.exit(2);
};

// A connection that may not be made fails where nobody can catch it.
addEventListener("error", ({ error }: ErrorEvent) => {
  if (isMissingFlag(error)) refuse(error);
});

const running = await start().catch((error: unknown) => {
  if (isForPeople(error) || isMissingFlag(error)) return refuse(error);
  throw error;
});
console.log(`Drover listens on ${running.url}`);

let isEnding = false;
const end = async (): Promise<void> => {
  // One press may come more than once: `deno task` passes on what the whole terminal got.
  if (isEnding) return;
  isEnding = true;
  // What is left behind is found by the next one: rows say it all, and a Postgres of its own is adopted.
  setTimeout(() => deno.exit(1), endWithinMs);
  await running.close();
  deno.exit(0);
};
for (const signal of ["SIGINT", "SIGTERM"] as const) deno.addSignalListener(signal, () => void end());
