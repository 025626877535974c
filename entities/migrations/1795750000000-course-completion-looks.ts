/**
 * Stores the courses whose completion a run must check, for students who send no request themselves (DEC-153). Older processes write no
 * row, so they start no such run.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "course_completion_looks" (
    "course_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "looks_at" timestamptz NOT NULL,
    "pass_id" uuid NOT NULL,
    "after_id" uuid,
    "resumes_at" timestamptz,
    CONSTRAINT "course_completion_looks_key" PRIMARY KEY ("course_id"),
    CONSTRAINT "FK_9b035dc89766fd5cc63c36126fb" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE,
    CONSTRAINT "FK_87e34bbd93aeae6f5ca68c08879" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
  );
  CREATE INDEX "course_completion_looks_looks_at" ON "course_completion_looks" ("looks_at");
`;

const down = `DROP TABLE "course_completion_looks";`;

export class CourseCompletionLooks1795750000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
