import type { PolicyVerdict, PolicyView } from "#shared/api/policy.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./failure.ts";

/** The policy of the fleet. */
export const getPolicy = (client: Client): Promise<Answer<PolicyView>> => client.request("GET", "/v1/policy");

/** Replaces the policy of the fleet as a whole; what `policy` leaves out is as in the default one. */
export const setPolicy = (client: Client, policy: unknown): Promise<Answer<PolicyView>> =>
  client.request("PUT", "/v1/policy", { body: policy });

/** Judges a start without starting anything (API reference: `POST /v1/policy/try`). */
export const tryPolicy = (client: Client, start: object): Promise<Answer<PolicyVerdict>> =>
  client.request("POST", "/v1/policy/try", { body: start });
