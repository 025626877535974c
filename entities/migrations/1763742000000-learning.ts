/** How far students are in lessons and courses, and what they say about lessons. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "course_completions" (
    "student_id" uuid NOT NULL,
    "course_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "completed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_0cf778be161f0731d9e5211844f" PRIMARY KEY ("student_id", "course_id")
  );
  CREATE INDEX "course_completions_course" ON "course_completions" ("course_id");
  CREATE TABLE "lesson_comments" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "lesson_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "body" text NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_a1c4f2a0bc6e05767dd98f60e2a" PRIMARY KEY ("id")
  );
  CREATE INDEX "lesson_comments_student" ON "lesson_comments" ("student_id");
  CREATE INDEX "lesson_comments_lesson" ON "lesson_comments" ("lesson_id", "created_at", "id");
  CREATE TABLE "lesson_progress" (
    "student_id" uuid NOT NULL,
    "lesson_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "first_completed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "completed" boolean NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_92ed7bfa98a32eab1a62f206dd9" PRIMARY KEY ("student_id", "lesson_id")
  );
  CREATE INDEX "lesson_progress_lesson" ON "lesson_progress" ("lesson_id");
  ALTER TABLE "course_completions" ADD CONSTRAINT "FK_4ada5af2756631fb97ccd711c6f" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "course_completions" ADD CONSTRAINT "FK_01d7441678dbe5ba3ae5e236276" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lesson_comments" ADD CONSTRAINT "FK_e120712049addd4650b9f2b2579" FOREIGN KEY ("lesson_id") REFERENCES "lessons"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lesson_comments" ADD CONSTRAINT "FK_dc67fd739158ef884682c7cf717" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lesson_progress" ADD CONSTRAINT "FK_4012564b73cc5b98b48d31685b9" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lesson_progress" ADD CONSTRAINT "FK_980e74721039ebe210fee2eeca2" FOREIGN KEY ("lesson_id") REFERENCES "lessons"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "course_completions";
  DROP TABLE "lesson_comments";
  DROP TABLE "lesson_progress";
`;

export class Learning1763742000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
