import { policy, policyVerdict, policyView, tryPolicyBody } from "#shared/api/policy.ts";
import { getPolicy, setPolicy } from "../actions/fleet-policy.ts";
import { tryPolicy } from "../actions/require-allowed.ts";
import { route, type Route } from "./route.ts";

const oversized = ["payload_too_large", "unsupported_media_type"] as const;
const answer = policyView.meta({ ref: "Policy" });

const get: Route = route({
  method: "get",
  path: "/v1/policy",
  operationId: "getPolicy",
  summary: "The policy of the fleet: what may be started",
  tag: "policy",
  answers: { 200: { description: "The policy, with every default written out", schema: answer } },
  failures: [],
  handle: async ({ c, needs }) => c.json(await getPolicy(needs)),
});

const put: Route = route({
  method: "put",
  path: "/v1/policy",
  operationId: "setPolicy",
  summary: "Replace the policy of the fleet as a whole; {} is the default one",
  tag: "policy",
  body: policy,
  answers: { 200: { description: "The policy that holds now", schema: answer } },
  failures: ["invalid_request", ...oversized],
  handle: async ({ c, needs, body }) => c.json(await setPolicy(needs, body)),
});

const attempt: Route = route({
  method: "post",
  path: "/v1/policy/try",
  operationId: "tryPolicy",
  summary: "Judge a start without starting anything; a node's own policy is not asked",
  tag: "policy",
  audited: false,
  body: tryPolicyBody,
  answers: { 200: { description: "The verdict", schema: policyVerdict.meta({ ref: "PolicyVerdict" }) } },
  failures: ["invalid_request", ...oversized],
  handle: async ({ c, needs, body }) => c.json(await tryPolicy(needs, body)),
});

export const policyRoutes: Route[] = [get, put, attempt];
