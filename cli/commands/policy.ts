import { withConnection } from "../connection.ts";
import { withShape } from "../print.ts";
import type { Verb } from "../verb.ts";
import { showPolicy } from "./policy/show.ts";

export const verb: Verb = {
  define: (command) => withShape(withConnection(command)),
  run: showPolicy,
  verbs: {
    show: { summary: "show the policy of the fleet", load: () => import("./policy/show.ts") },
    set: { summary: "replace it by what a file says", load: () => import("./policy/set.ts") },
    try: { summary: "judge a command without running it", load: () => import("./policy/try.ts") },
  },
};
