/** Students' e-mails as keyed hashes, so that an audience is held against suppressions in one statement. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "students" ADD "email_key" bytea;
  ALTER TABLE "students" ADD CONSTRAINT "students_removed_has_no_key" CHECK (email IS NOT NULL OR email_key IS NULL);
  CREATE INDEX "students_without_key" ON "students" ("id") WHERE email_key IS NULL AND email IS NOT NULL;
  CREATE FUNCTION "students_forget_key"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.email_key := NULL;
    RETURN NEW;
  END $$;
  CREATE TRIGGER "students_forget_key" BEFORE UPDATE OF email ON "students" FOR EACH ROW
    WHEN (NEW.email IS DISTINCT FROM OLD.email AND NEW.email_key IS NOT DISTINCT FROM OLD.email_key)
    EXECUTE FUNCTION "students_forget_key"();
`;

const down = `
  DROP TRIGGER "students_forget_key" ON "students";
  DROP FUNCTION "students_forget_key";
  DROP INDEX "students_without_key";
  ALTER TABLE "students" DROP CONSTRAINT "students_removed_has_no_key";
  ALTER TABLE "students" DROP COLUMN "email_key";
`;

export class StudentEmailKeys1795362600000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
