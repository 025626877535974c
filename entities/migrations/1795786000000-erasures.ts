/** Adds the erasures of clubs, students and administrators (ADR 88). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Erasures1795786000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "clubs" ADD "erasing_at" TIMESTAMP WITH TIME ZONE;
      CREATE TABLE "erasures" (
        "id" uuid NOT NULL,
        "kind" text NOT NULL,
        "subject_id" uuid NOT NULL,
        "club_id" uuid,
        "requested_by" uuid,
        "requested_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "erases_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "status" text NOT NULL,
        "looks_at" TIMESTAMP WITH TIME ZONE,
        "reminded_at" TIMESTAMP WITH TIME ZONE,
        "closed_at" TIMESTAMP WITH TIME ZONE,
        "completed_at" TIMESTAMP WITH TIME ZONE,
        "counts" jsonb NOT NULL DEFAULT '{}',
        "slug" text,
        "receivers" jsonb NOT NULL DEFAULT '[]',
        "receivers_final" boolean NOT NULL DEFAULT false,
        "fence" integer NOT NULL DEFAULT '0',
        "lease_until" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "erasures_kind" CHECK (kind IN ('club', 'student', 'administrator')),
        CONSTRAINT "erasures_status" CHECK (status IN ('planned', 'closing', 'rows', 'runs', 'objects', 'completed')),
        CONSTRAINT "erasures_club" CHECK (kind = 'administrator' OR club_id IS NOT NULL),
        CONSTRAINT "erasures_completed" CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
        CONSTRAINT "erasures_due" CHECK ((status = 'completed') = (looks_at IS NULL)),
        CONSTRAINT "erasures_pkey" PRIMARY KEY ("id")
      );
      CREATE UNIQUE INDEX "erasures_subject" ON "erasures" ("subject_id");
      CREATE INDEX "erasures_looks_at" ON "erasures" ("looks_at") WHERE looks_at IS NOT NULL;
      CREATE INDEX "erasures_requested" ON "erasures" ("requested_at");
      CREATE INDEX "erasures_receivers" ON "erasures" ("completed_at")
        WHERE kind = 'student' AND completed_at IS NOT NULL AND NOT receivers_final;
      CREATE INDEX "erasures_slug" ON "erasures" ("slug") WHERE slug IS NOT NULL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "erasures"; ALTER TABLE "clubs" DROP "erasing_at"`);
  }
}
