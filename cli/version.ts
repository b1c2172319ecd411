import { readFileSync } from "node:fs";

// Set by the bundler; a checkout that runs its sources reads the package itself.
declare const __DROVER_VERSION__: string | undefined;

/** The version of this package. */
export const version: string = typeof __DROVER_VERSION__ === "string" ? __DROVER_VERSION__ : readOwnVersion();

function readOwnVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
