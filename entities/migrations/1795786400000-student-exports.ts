/** Adds the exports of students (ADR 90). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StudentExports1795786400000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "student_exports" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "student_id" uuid NOT NULL,
        "requested_by" text NOT NULL,
        "requester_id" uuid NOT NULL,
        "status" text NOT NULL DEFAULT 'pending',
        "sections_done" smallint NOT NULL DEFAULT 0,
        "file_fence" integer,
        "size_bytes" bigint,
        "attempts" smallint NOT NULL DEFAULT 0,
        "fence" integer NOT NULL DEFAULT 0,
        "lease_until" TIMESTAMP WITH TIME ZONE,
        "looks_at" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "completed_at" TIMESTAMP WITH TIME ZONE,
        "expires_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "student_exports_status" CHECK (status in ('pending', 'running', 'ready', 'failed', 'expired')),
        CONSTRAINT "student_exports_requester" CHECK (requested_by in ('administrator', 'student')),
        CONSTRAINT "student_exports_due" CHECK ((looks_at IS NOT NULL) = (status IN ('pending', 'running'))),
        CONSTRAINT "student_exports_ready" CHECK ((expires_at IS NOT NULL) = (status IN ('ready', 'expired'))),
        CONSTRAINT "student_exports_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "student_exports_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "student_exports_student_id_fkey" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE
      );
      CREATE INDEX "student_exports_student" ON "student_exports" ("student_id", "created_at", "id");
      CREATE INDEX "student_exports_club" ON "student_exports" ("club_id", "created_at", "id");
      CREATE INDEX "student_exports_looks_at" ON "student_exports" ("looks_at") WHERE looks_at IS NOT NULL;
      CREATE INDEX "student_exports_expiry" ON "student_exports" ("expires_at") WHERE status = 'ready';
      CREATE INDEX "student_exports_age" ON "student_exports" ("created_at") WHERE looks_at IS NULL`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "student_exports"`);
  }
}
