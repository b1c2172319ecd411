CREATE TABLE "console_sessions" (
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
