/** Certificates of courses. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "certificates" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "course_id" uuid NOT NULL,
    "code" text NOT NULL,
    "version" integer NOT NULL DEFAULT '1',
    "student_name" text,
    "student_email" text,
    "course_title" text NOT NULL,
    "club_name" text NOT NULL,
    "lesson_count" integer NOT NULL,
    "hours" smallint,
    "verify_url" text NOT NULL,
    "completed_at" TIMESTAMP WITH TIME ZONE,
    "issued_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "revoked_at" TIMESTAMP WITH TIME ZONE,
    "revoked_reason" text,
    "withdrawn_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "certificates_withdrawn_is_anonymous" CHECK ((withdrawn_at IS NULL) = (student_name IS NOT NULL) AND (withdrawn_at IS NULL) = (student_email IS NOT NULL)),
    CONSTRAINT "certificates_revoked" CHECK ((revoked_reason IS NOT NULL) = (revoked_at IS NOT NULL AND withdrawn_at IS NULL)),
    CONSTRAINT "certificates_version" CHECK (version >= 1),
    CONSTRAINT "PK_e4c7e31e2144300bea7d89eb165" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "certificates_code" ON "certificates" ("code");
  CREATE INDEX "certificates_course" ON "certificates" ("course_id", "issued_at", "id");
  CREATE INDEX "certificates_club" ON "certificates" ("club_id", "issued_at", "id");
  CREATE UNIQUE INDEX "certificates_student_course" ON "certificates" ("student_id", "course_id");
  ALTER TABLE "certificates" ADD CONSTRAINT "FK_0eec5e698012751d8a518b77aa4" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "certificates" ADD CONSTRAINT "FK_5fc025803a5eb21001b77ed6b1a" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "certificates" ADD CONSTRAINT "FK_3b6a412073ea28153dc20a843b4" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "certificates";
`;

export class Certificates1763744000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
