/** Who opened a student's account: a sign-up counts as a student once it is confirmed. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const counting = (counts: (row: string) => string) => `
  CREATE OR REPLACE FUNCTION "students_added"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_counts AS counted (club_id, students)
    SELECT club_id, count(*) FROM added WHERE ${counts('added')} GROUP BY club_id ORDER BY club_id
    ON CONFLICT (club_id) DO UPDATE SET students = counted.students + excluded.students;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION "students_deleted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT club_id, -count(*) FROM deleted WHERE ${counts('deleted')} GROUP BY club_id;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION "students_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT changed.club_id, sum(changed.students)
      FROM (VALUES (OLD.club_id, -(${counts('OLD')})::int), (NEW.club_id, (${counts('NEW')})::int))
        AS changed (club_id, students)
     GROUP BY 1;
    RETURN NULL;
  END $$;
`;
const recounted = (columns: string, counts: (row: string) => string) => `
  DROP TRIGGER "students_recounted" ON "students";
  CREATE TRIGGER "students_recounted" AFTER UPDATE OF ${columns} ON "students"
    FOR EACH ROW WHEN ((OLD.club_id, ${counts('OLD')}) IS DISTINCT FROM (NEW.club_id, ${counts('NEW')}))
    EXECUTE FUNCTION "students_changed"();
`;
const isThere = (row: string) => `${row}.removed_at IS NULL`;
const isCounted = (row: string) =>
  `(${row}.removed_at IS NULL AND (${row}.verified_at IS NOT NULL OR ${row}.opened_by <> 'sign_up'))`;

/**
 * An unconfirmed account with a password came from a sign-up. Where the club or a sale has given it something since, it is
 * theirs, and the password of the sign-up goes. Accounts of other kinds keep the default.
 */
const up = `
  ALTER TABLE "students" ADD "opened_by" text NOT NULL DEFAULT 'club';
  ALTER TABLE "students" ADD CONSTRAINT "students_opened_by" CHECK (opened_by in ('sign_up', 'club', 'sale'));
  ${counting(isCounted)}
  ${recounted('removed_at, club_id, verified_at, opened_by', isCounted)}
  UPDATE "students" student SET opened_by = 'sign_up'
   WHERE removed_at IS NULL AND verified_at IS NULL AND password_hash IS NOT NULL
     AND NOT EXISTS (SELECT FROM "enrollments" given WHERE given.student_id = student.id AND given.source NOT IN ('free', 'registration_link'));
  UPDATE "students" SET password_hash = NULL
   WHERE removed_at IS NULL AND verified_at IS NULL AND password_hash IS NOT NULL AND opened_by = 'club';
  CREATE INDEX "students_pending_sign_ups" ON "students" ("created_at") WHERE removed_at IS NULL AND verified_at IS NULL AND opened_by = 'sign_up';
`;

const down = `
  DROP INDEX "public"."students_pending_sign_ups";
  UPDATE "students" SET opened_by = 'club';
  ${recounted('removed_at, club_id', isThere)}
  ${counting(isThere)}
  ALTER TABLE "students" DROP CONSTRAINT "students_opened_by";
  ALTER TABLE "students" DROP COLUMN "opened_by";
`;

export class PendingSignUps1795360101000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
