// One product on one runtime, and what every runtime owes its users, chapter by chapter. The order is that of the chapters:
// what ends the control plane or its sockets comes behind what needs them, and what was hit is counted at last.
import { afterAll, afterEach } from "vitest";
import type { Answered } from "../support/api.ts";
import { OidcProvider } from "../support/oidc-provider.ts";
import { useProduct } from "../support/product.ts";
import { audit } from "./chapters/audit.ts";
import { connections } from "./chapters/connections.ts";
import { coverage } from "./chapters/coverage.ts";
import { deploys } from "./chapters/deploys.ts";
import { enrolment } from "./chapters/enrolment.ts";
import { events } from "./chapters/events.ts";
import { fanouts } from "./chapters/fanouts.ts";
import { following } from "./chapters/following.ts";
import { limits } from "./chapters/limits.ts";
import { link } from "./chapters/link.ts";
import { naps } from "./chapters/naps.ts";
import { nodes } from "./chapters/nodes.ts";
import { output } from "./chapters/output.ts";
import { policy } from "./chapters/policy.ts";
import { processes } from "./chapters/processes.ts";
import { queueing } from "./chapters/queueing.ts";
import { repeats } from "./chapters/repeats.ts";
import { secrets } from "./chapters/secrets.ts";
import { service } from "./chapters/service.ts";
import { sessions } from "./chapters/sessions.ts";
import { tokens } from "./chapters/tokens.ts";
import { runtime } from "./chosen-runtime.ts";

const calls: Answered[] = [];
const provider = await OidcProvider.start();
afterAll(() => provider.close());
const product = useProduct({
  runtime,
  env: provider.settings,
  agents: ["n1", "n2"],
  answered: (call) => void calls.push(call),
});

// One failure is told once: what it left ended or away is brought back for the tests behind it.
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  await product.killControlPlane();
  await product.startControlPlane();
  for (const agent of product.agents.values()) await agent.restart();
});

service(product, runtime);
enrolment(product);
link(product, runtime);
processes(product);
repeats(product);
output(product);
following(product);
nodes(product);
queueing(product);
policy(product);
tokens(product);
sessions(product, provider);
secrets(product);
audit(product, runtime);
fanouts(product);
events(product);
connections(product);
naps(product, runtime);
deploys(product);
limits(product);
coverage(product, calls);
