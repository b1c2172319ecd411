import { verb as secrets } from "../secrets.ts";
import type { Verb } from "../../verb.ts";

/** What `drover secrets` does by itself. */
export const verb: Verb = { define: secrets.define, run: secrets.run };
