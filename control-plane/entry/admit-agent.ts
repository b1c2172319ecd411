import type { Link } from "../link/link.ts";
import type { Log } from "../needs.ts";
import { turns } from "#shared/turns.ts";

/** What of an upgrade request says who comes, and whether somebody still waits for the answer. */
export type Applicant = {
  path: string;
  authorization: string | null | undefined;
  isGone(): boolean;
};

export type Admitted = { nodeId: string };

/** Why somebody is not let in, by status. */
export const refusals = {
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const;
export type Refusal = keyof typeof refusals;

/** Keys looked up at once: when a fleet comes back, what those before need is not held up by all who came behind them. */
const admissionsAtOnce = 64;

/** Tells whose key an upgrade request carries, before the upgrade; undefined for one that went while it waited. */
export const admitter = (
  link: Pick<Link, "authorize">,
  log: Log,
): ((applicant: Applicant) => Promise<Admitted | Refusal | undefined>) => {
  const inTurn = turns(admissionsAtOnce);
  return (applicant) =>
    // One that went while it waited is not looked up: it comes again, behind the others.
    inTurn(async () => (applicant.isGone() ? undefined : admit(applicant, link, log))).catch(
      (error: unknown) => {
        log.error("upgrade.failed", { error });
        return 500;
      },
    );
};

const admit = async (
  { path, authorization }: Applicant,
  link: Pick<Link, "authorize">,
  log: Log,
): Promise<Admitted | Refusal> => {
  if (path !== "/v1/agent") return 404;
  try {
    const nodeId = await link.authorize(authorization);
    return nodeId === undefined ? 401 : { nodeId };
  } catch (error) {
    log.warn("upgrade.unavailable", { error });
    return 503;
  }
};
