// Written by drizzle/embed.ts from migrations/*.sql.

export type Migration = { tag: string; hash: string; sql: string };

export const migrations: readonly Migration[] = [
  {
    tag: "0000_first",
    hash: "cfa32fad281a17c9f6e0cb992ba02de7850244ab7d83db8b92a39135b901ed31",
    sql: `CREATE TABLE "idempotency_keys" (
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"digest" text NOT NULL,
	"object_id" text,
	"claimed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_scope_key_pk" PRIMARY KEY("scope","key")
);
--> statement-breakpoint
CREATE TABLE "join_tokens" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"ttl_ms" bigint NOT NULL,
	"max_uses" integer NOT NULL,
	"uses" integer NOT NULL,
	"node_name" text,
	"labels" jsonb NOT NULL,
	"allow_labels" boolean NOT NULL,
	"replace" boolean NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "join_tokens_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "nodes" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"join_token_id" text COLLATE "C" NOT NULL,
	"labels" jsonb NOT NULL,
	"facts" jsonb NOT NULL,
	"load" jsonb,
	"max_processes" integer NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"instance_id" text,
	"machine_id" text,
	"boot_id" text,
	"connected_at" timestamp (3) with time zone,
	"disconnected_at" timestamp (3) with time zone,
	"orderly" boolean DEFAULT false NOT NULL,
	"last_seen_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "nodes_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "outputs" (
	"process_id" text COLLATE "C" NOT NULL,
	"stream" text NOT NULL,
	"head" "bytea" NOT NULL,
	"tail" "bytea" NOT NULL,
	"total_bytes" bigint NOT NULL,
	CONSTRAINT "outputs_process_id_stream_pk" PRIMARY KEY("process_id","stream")
);
--> statement-breakpoint
CREATE TABLE "process_keys" (
	"scope" text COLLATE "C" NOT NULL,
	"key" text NOT NULL,
	"process_id" text COLLATE "C",
	"digest" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "process_keys_scope_key_pk" PRIMARY KEY("scope","key")
);
--> statement-breakpoint
CREATE TABLE "processes" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"node_id" text COLLATE "C" NOT NULL,
	"chat_id" text COLLATE "C",
	"key" text,
	"launch" jsonb NOT NULL,
	"sealed" "bytea",
	"background" boolean NOT NULL,
	"labels" jsonb NOT NULL,
	"if_offline" text NOT NULL,
	"queue_ttl_ms" bigint NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"detail" text,
	"exit_code" integer,
	"signal" text,
	"pid" integer,
	"cwd" text,
	"revision" bigint DEFAULT 0 NOT NULL,
	"total_bytes" bigint DEFAULT 0 NOT NULL,
	"omitted_bytes" bigint DEFAULT 0 NOT NULL,
	"lines" bigint,
	"survivors" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"stop" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"handed_out_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone,
	"exited_at" timestamp (3) with time zone,
	"duration_ms" bigint,
	"observed_at" timestamp (3) with time zone,
	"concluded_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "outputs" ADD CONSTRAINT "outputs_process_id_processes_id_fk" FOREIGN KEY ("process_id") REFERENCES "public"."processes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "process_keys" ADD CONSTRAINT "process_keys_process_id_processes_id_fk" FOREIGN KEY ("process_id") REFERENCES "public"."processes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("claimed_at");--> statement-breakpoint
CREATE UNIQUE INDEX "process_keys_process" ON "process_keys" USING btree ("process_id") WHERE process_id is not null;--> statement-breakpoint
CREATE INDEX "processes_of_node" ON "processes" USING btree ("node_id","id");--> statement-breakpoint
CREATE INDEX "processes_of_chat" ON "processes" USING btree ("chat_id","id") WHERE chat_id is not null;--> statement-breakpoint
CREATE INDEX "processes_labels" ON "processes" USING gin (labels jsonb_path_ops) WHERE labels <> '{}'::jsonb;--> statement-breakpoint
CREATE INDEX "processes_concluded" ON "processes" USING btree ("concluded_at") WHERE concluded_at is not null;--> statement-breakpoint
CREATE INDEX "processes_unfinished" ON "processes" USING btree ("node_id","id") WHERE concluded_at is null or survivors <> '[]'::jsonb;`,
  },
  {
    tag: "0001_idempotent_objects",
    hash: "68f0fabb37148a92ad79443089235bc1ee9a0eaf0399ce6c4c04c644a1ece5ec",
    sql: `DELETE FROM "idempotency_keys" WHERE "object_id" IS NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "object_id" SET DATA TYPE text COLLATE "C";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "object_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "settled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "settled" SET DEFAULT false;
`,
  },
  {
    tag: "0002_fleet",
    hash: "54d8591d3ff99cdcec43906f8ec6c36fbd3b5bcb9fd74a8e64c303a81fea7c72",
    sql: `CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"transaction" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"type" text NOT NULL,
	"node_id" text COLLATE "C",
	"data" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "fanout_nodes" (
	"fanout_id" text COLLATE "C" NOT NULL,
	"node_id" text COLLATE "C" NOT NULL,
	"node_name" text NOT NULL,
	"position" integer NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"process_id" text COLLATE "C",
	"attempt" integer DEFAULT 0 NOT NULL,
	"exit_code" integer,
	"sha256" text,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "fanout_nodes_fanout_id_node_id_pk" PRIMARY KEY("fanout_id","node_id")
);
--> statement-breakpoint
CREATE TABLE "fanouts" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"selector" text NOT NULL,
	"process" jsonb NOT NULL,
	"sealed" "bytea",
	"plan" jsonb NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_start_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "instances" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"place" text NOT NULL,
	"version" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"holder" text COLLATE "C" NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "relay" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "relay_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"recipient" text COLLATE "C" NOT NULL,
	"sender" text COLLATE "C" NOT NULL,
	"body" text NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "held_by" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "clock_skew_ms" bigint;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "drain_reason" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "drain_deadline_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "lease_id" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "lease_reason" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "lease_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "processes" ADD COLUMN "fanout_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "fanout_nodes" ADD CONSTRAINT "fanout_nodes_fanout_id_fanouts_id_fk" FOREIGN KEY ("fanout_id") REFERENCES "public"."fanouts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "events_age" ON "events" USING btree ("at");--> statement-breakpoint
CREATE INDEX "fanout_nodes_process" ON "fanout_nodes" USING btree ("process_id") WHERE process_id is not null;--> statement-breakpoint
CREATE INDEX "fanouts_open" ON "fanouts" USING btree ("id") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "relay_recipient" ON "relay" USING btree ("recipient","id");--> statement-breakpoint
CREATE INDEX "processes_of_fanout" ON "processes" USING btree ("fanout_id","id") WHERE fanout_id is not null;`,
  },
  {
    tag: "0003_claimants",
    hash: "5679c232121d28e136260ea3b76b6d1d78f2d24b56fc1e15043374bb56d14ae9",
    sql: `ALTER TABLE "idempotency_keys" ADD COLUMN "claimed_by" text COLLATE "C";`,
  },
  {
    tag: "0004_presence",
    hash: "7fca7868fe2eb6c0c6f38568bd94f87977a44608da760bc92c4cb59f3191647f",
    sql: `DROP INDEX "events_age";--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "offline_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "events_position" ON "events" USING btree ("transaction","id");`,
  },
  {
    tag: "0005_process_lease",
    hash: "fbc5abfc808f22f103cb7ac1973a2dbaa628af3978071709d6d26b839eec5f73",
    sql: `ALTER TABLE "processes" ADD COLUMN "lease_id" text;`,
  },
  {
    tag: "0006_hand_out",
    hash: "c006acbec2fa016f14734aa1bfb1b7d17e88f66065f119ae9f9c87d5ef685425",
    sql: `ALTER TABLE "processes" ADD COLUMN "hand_out" integer DEFAULT 0 NOT NULL;`,
  },
  {
    tag: "0007_policies",
    hash: "1feda3c29e00029e7dafdc0fc9bfeb0ff6ea07ddd3107e20b377d462f9b39b97",
    sql: `CREATE TABLE "policies" (
	"name" text PRIMARY KEY NOT NULL,
	"policy" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
`,
  },
  {
    tag: "0008_tokens",
    hash: "5f5a80d1ae39aa9fa9d5bede7ba573698a921be9818d5836a16e3e7e38f9e049",
    sql: `CREATE TABLE "tokens" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"scope" jsonb NOT NULL,
	"created_by" text COLLATE "C",
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "tokens_hash_unique" UNIQUE("hash")
);
`,
  },
  {
    tag: "0009_fanout_creator",
    hash: "ecd6c3a1bdd4a64b7e12e0d089208817e3a111b9b3adcfe1d16ddce6e0ef778d",
    sql: `ALTER TABLE "fanouts" ADD COLUMN "created_by" text COLLATE "C";`,
  },
  {
    tag: "0010_sessions",
    hash: "02763a07293cf1e19684c953dbedcb5a7b9c8fed7591dba4612b496ad0bf794a",
    sql: `CREATE TABLE "console_sessions" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"token_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "console_sessions_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "sign_in_codes" (
	"hash" text PRIMARY KEY NOT NULL,
	"token_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
`,
  },
  {
    tag: "0011_session_users",
    hash: "02412b79da32a22291f38a9b6c3ace860799f6193c41191db7c6effc98470f47",
    sql: `ALTER TABLE "console_sessions" ADD COLUMN "user" jsonb;`,
  },
  {
    tag: "0012_secrets",
    hash: "3ec508c634139c066beea9f48f428eed44ca271090fdc2ee83a3b14e88f9aeaa",
    sql: `CREATE TABLE "secrets" (
	"name" text COLLATE "C" PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
`,
  },
  {
    tag: "0013_audit",
    hash: "38c9225e34499e8db33f5646e239bd625d9d23db72e0f6a6381ec2abaa6195a5",
    sql: `CREATE TABLE "audit" (
	"at" timestamp (3) with time zone NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text COLLATE "C",
	"actor_name" text NOT NULL,
	"address" text,
	"operation" text NOT NULL,
	"object_kind" text NOT NULL,
	"object_id" text COLLATE "C",
	"node_id" text COLLATE "C",
	"node_name" text,
	"input" jsonb NOT NULL,
	"status" integer NOT NULL,
	"code" text,
	"request_id" text COLLATE "C" NOT NULL,
	CONSTRAINT "audit_at_id_pk" PRIMARY KEY("at","id")
);
--> statement-breakpoint
CREATE INDEX "audit_of_actor" ON "audit" USING btree ("actor_id","at") WHERE actor_id is not null;--> statement-breakpoint
CREATE INDEX "audit_of_object" ON "audit" USING btree ("object_id","at") WHERE object_id is not null;--> statement-breakpoint
CREATE INDEX "audit_of_node" ON "audit" USING btree ("node_id","at") WHERE node_id is not null;
--> statement-breakpoint
-- An entry stays as it was written. It goes only in a transaction that says until when (drover.audit_retention), if it is from
-- before that, and never before it is a day old, whatever is said.
CREATE FUNCTION "audit_stays"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		IF OLD.at < nullif(current_setting('drover.audit_retention', true), '')::timestamptz
			AND OLD.at < now() - interval '23 hours' THEN
			RETURN OLD;
		END IF;
	END IF;
	RAISE EXCEPTION 'entries of the audit are neither changed nor deleted before their retention is over'
		USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint
CREATE TRIGGER "audit_rows_stay" BEFORE UPDATE OR DELETE ON "audit" FOR EACH ROW EXECUTE FUNCTION "audit_stays"();--> statement-breakpoint
CREATE TRIGGER "audit_stays_whole" BEFORE TRUNCATE ON "audit" FOR EACH STATEMENT EXECUTE FUNCTION "audit_stays"();
`,
  },
];
