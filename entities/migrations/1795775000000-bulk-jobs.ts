/** Adds bulk jobs: one action on many students, with a row for each student (ADR 75). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BulkJobs1795775000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "bulk_jobs" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "action" jsonb NOT NULL,
        "status" text NOT NULL,
        "rows_total" integer NOT NULL,
        "applied_count" integer NOT NULL DEFAULT '0',
        "unchanged_count" integer NOT NULL DEFAULT '0',
        "failed_count" integer NOT NULL DEFAULT '0',
        "looks_at" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "started_at" TIMESTAMP WITH TIME ZONE,
        "completed_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "bulk_jobs_status" CHECK (status in ('pending', 'running', 'completed', 'canceled')),
        CONSTRAINT "bulk_jobs_ended" CHECK ((completed_at IS NOT NULL) = (status in ('completed', 'canceled'))),
        CONSTRAINT "bulk_jobs_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "bulk_jobs_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "bulk_jobs_club" ON "bulk_jobs" ("club_id", "created_at", "id");
      CREATE INDEX "bulk_jobs_turn" ON "bulk_jobs" ("club_id", "created_at", "id") WHERE completed_at IS NULL;
      CREATE INDEX "bulk_jobs_looks_at" ON "bulk_jobs" ("looks_at") WHERE looks_at IS NOT NULL;
      CREATE INDEX "bulk_jobs_completed" ON "bulk_jobs" ("completed_at") WHERE completed_at IS NOT NULL;
      CREATE TABLE "bulk_job_rows" (
        "job_id" uuid NOT NULL,
        "row" integer NOT NULL,
        "student_id" uuid,
        "outcome" text NOT NULL,
        "code" text,
        CONSTRAINT "bulk_job_rows_outcomes" CHECK (outcome in ('pending', 'applied', 'unchanged', 'failed', 'canceled')),
        CONSTRAINT "bulk_job_rows_codes" CHECK (code in ('student_not_found', 'student_removed', 'duplicate', 'target_not_found', 'delivery_archived', 'invalid_request', 'limit_reached')),
        CONSTRAINT "bulk_job_rows_code" CHECK ((code IS NOT NULL) = (outcome = 'failed' OR (outcome = 'unchanged' AND code = 'duplicate'))),
        CONSTRAINT "bulk_job_rows_pkey" PRIMARY KEY ("job_id", "row"),
        CONSTRAINT "bulk_job_rows_job_id_fkey" FOREIGN KEY ("job_id") REFERENCES "bulk_jobs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "bulk_job_rows_outcome" ON "bulk_job_rows" ("job_id", "outcome", "row");
      CREATE INDEX "bulk_job_rows_student" ON "bulk_job_rows" ("student_id") WHERE student_id IS NOT NULL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "bulk_job_rows"`);
    await queryRunner.query(`DROP TABLE "bulk_jobs"`);
  }
}
