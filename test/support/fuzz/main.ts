// `npm run fuzz [factor] [seed]`: the fuzz tests with that many times their cases (10), of a seed that is new each time.

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";

const [factor = "10", seed = String(randomInt(2 ** 31))] = process.argv.slice(2);
const env = { ...process.env, DROVER_FUZZ_FACTOR: factor, DROVER_FUZZ_SEED: seed };
console.log(`DROVER_FUZZ_FACTOR=${factor} DROVER_FUZZ_SEED=${seed}`);
const tests = ["test/control-plane/http/fuzz", "test/control-plane/link/fuzz", "test/node-agent/link/fuzz"];
const wire = ["test/control-plane/entry/node/raw-bytes"];
const { status } = spawnSync("vitest", ["run", ...tests, ...wire], { env, stdio: "inherit" });
process.exitCode = status ?? 1;
