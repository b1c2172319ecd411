CREATE TABLE "audit" (
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
