DELETE FROM "idempotency_keys" WHERE "object_id" IS NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "object_id" SET DATA TYPE text COLLATE "C";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "object_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "settled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "settled" SET DEFAULT false;
