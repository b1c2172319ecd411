CREATE TABLE "policies" (
	"name" text PRIMARY KEY NOT NULL,
	"policy" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
