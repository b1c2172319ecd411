import { within } from "#shared/within.ts";
import type { Store } from "../store.ts";
import { migrationsPending } from "../migrate.ts";
import { auditStore } from "./audit.ts";
import { type DatabaseOptions } from "./client.ts";
import { openPool, type Pool } from "./pool.ts";
import { consoleSessionStore, signInCodeStore } from "./console-sessions.ts";
import { eventStore } from "./events.ts";
import { fanoutStore } from "./fanouts.ts";
import { idempotencyStore } from "./idempotency.ts";
import { instanceStore } from "./instances.ts";
import { joinTokenStore } from "./join-tokens.ts";
import { leaseStore } from "./leases.ts";
import { letterStore, noticeStore } from "./letters.ts";
import { nodeStore } from "./nodes.ts";
import { policyStore } from "./policies.ts";
import { processStore } from "./processes.ts";
import { sealedValueStore } from "./sealed-values.ts";
import { secretStore } from "./secrets.ts";
import { tokenStore } from "./tokens.ts";
import { withUnavailable } from "./unavailable.ts";

const readyLimitMs = 5_000;
const closeLimitS = 5;

/** The store on a Postgres whose schema `migrate` has made; connects with the first question. */
export function openPostgresStore(options: DatabaseOptions): Store {
  const sql = openPool(options);
  const notices = noticeStore(sql, options);
  return {
    nodes: withUnavailable(nodeStore(sql)),
    joinTokens: withUnavailable(joinTokenStore(sql)),
    tokens: withUnavailable(tokenStore(sql)),
    signInCodes: withUnavailable(signInCodeStore(sql)),
    consoleSessions: withUnavailable(consoleSessionStore(sql)),
    processes: withUnavailable(processStore(sql)),
    idempotency: withUnavailable(idempotencyStore(sql)),
    events: withUnavailable(eventStore(sql)),
    instances: withUnavailable(instanceStore(sql)),
    leases: withUnavailable(leaseStore(sql)),
    letters: withUnavailable(letterStore(sql)),
    notices: { ...notices, ...withUnavailable({ send: notices.send }) },
    fanouts: withUnavailable(fanoutStore(sql)),
    policies: withUnavailable(policyStore(sql)),
    secrets: withUnavailable(secretStore(sql)),
    sealedValues: withUnavailable(sealedValueStore(sql)),
    audit: withUnavailable(auditStore(sql)),
    ready: () => readiness(sql),
    close: () => sql.end({ timeout: closeLimitS }),
  };
}

type Readiness = Awaited<ReturnType<Store["ready"]>>;

const readiness = async (sql: Pool): Promise<Readiness> =>
  (await within(schemaReadiness(sql), readyLimitMs)) ?? notReady("the database does not answer");

async function schemaReadiness(sql: Pool): Promise<Readiness> {
  try {
    const pending = await migrationsPending(sql);
    return pending.length === 0 ? { ready: true } : notReady(`migrations are missing: run "drover migrate"`);
  } catch {
    // The cause may name hosts and users, and this answer is public.
    return notReady("the database can not be reached");
  }
}

const notReady = (reason: string): Readiness => ({ ready: false, reason });
