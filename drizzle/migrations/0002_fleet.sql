CREATE TABLE "events" (
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
CREATE INDEX "processes_of_fanout" ON "processes" USING btree ("fanout_id","id") WHERE fanout_id is not null;