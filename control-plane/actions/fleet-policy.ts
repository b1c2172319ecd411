import { defaultPolicy, policy as policyShape, type Policy, type PolicyView } from "#shared/api/policy.ts";
import { DroverError } from "#shared/errors.ts";
import { ruleNames } from "#shared/guard/rules.ts";
import type { Needs } from "../needs.ts";
import type { StoredPolicy } from "../store/store.ts";

/** The policy by which starts are judged now, as of at most a second ago. */
export const fleetPolicy = async (needs: Pick<Needs, "store">): Promise<Policy> =>
  readPolicy(await needs.store.policies.recentFleet());

/** The policy as it is stored. */
export const getPolicy = async (needs: Pick<Needs, "store">): Promise<PolicyView> => {
  const stored = await needs.store.policies.fleet();
  return viewOf(readPolicy(stored), stored?.updatedAt);
};

/** Replaces the policy as a whole. Other control planes on the database follow within a second; what was started or waits stays. */
export const setPolicy = async (
  needs: Pick<Needs, "store" | "log" | "now">,
  policy: Policy,
): Promise<PolicyView> => {
  const updatedAt = needs.now();
  await needs.store.policies.setFleet({ policy, updatedAt });
  needs.log.info("policy.changed", { policy });
  return viewOf(policy, updatedAt);
};

// What a newer version wrote and this one does not know is not left out of account: nothing is started by half a policy.
const readPolicy = (stored: StoredPolicy | undefined): Policy => {
  if (stored === undefined) return defaultPolicy;
  const parsed = policyShape.safeParse(stored.policy);
  if (parsed.success) return parsed.data;
  throw new DroverError("unavailable", "the stored policy is of another version of Drover", {}, parsed.error);
};

const viewOf = (policy: Policy, updatedAt: Date | undefined): PolicyView => ({
  policy,
  updatedAt: updatedAt?.toISOString() ?? null,
  rules: [...ruleNames],
});
