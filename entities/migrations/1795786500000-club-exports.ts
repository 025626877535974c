/** Adds exports of clubs (ADR 91). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ClubExports1795786500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "club_exports" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "requested_by" uuid NOT NULL,
        "status" text NOT NULL,
        "progress" jsonb NOT NULL,
        "archive_bytes" bigint,
        "looks_at" TIMESTAMP WITH TIME ZONE,
        "fence" integer NOT NULL DEFAULT '0',
        "lease_until" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "started_at" TIMESTAMP WITH TIME ZONE,
        "ready_at" TIMESTAMP WITH TIME ZONE,
        "expires_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "club_exports_status" CHECK (status in ('pending', 'running', 'ready', 'failed', 'expired')),
        CONSTRAINT "club_exports_ready" CHECK (status <> 'ready' OR (ready_at IS NOT NULL AND expires_at IS NOT NULL AND archive_bytes IS NOT NULL)),
        CONSTRAINT "club_exports_open" CHECK (status IN ('failed', 'expired') OR looks_at IS NOT NULL),
        CONSTRAINT "club_exports_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "club_exports_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "club_exports_club" ON "club_exports" ("club_id", "created_at", "id");
      CREATE UNIQUE INDEX "club_exports_one_open" ON "club_exports" ("club_id") WHERE status IN ('pending', 'running');
      CREATE INDEX "club_exports_looks_at" ON "club_exports" ("looks_at") WHERE looks_at IS NOT NULL;
      CREATE INDEX "club_exports_created" ON "club_exports" ("created_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "club_exports"`);
  }
}
