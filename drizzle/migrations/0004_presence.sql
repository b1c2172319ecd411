DROP INDEX "events_age";--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "offline_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "events_position" ON "events" USING btree ("transaction","id");