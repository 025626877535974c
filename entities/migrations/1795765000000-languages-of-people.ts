/**
 * Adds the language of each person. A club can have any language that the service speaks. The catalogues decide which languages these
 * are, so a new language needs no migration.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LanguagesOfPeople1795765000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "students" ADD "language" text;
      ALTER TABLE "administrators" ADD "language" text;
      ALTER TABLE "clubs" DROP CONSTRAINT "clubs_language";
      ALTER TABLE "clubs" ADD CONSTRAINT "clubs_language" CHECK (language ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$') NOT VALID;
      ALTER TABLE "clubs" VALIDATE CONSTRAINT "clubs_language"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      UPDATE "clubs" SET "language" = split_part("language", '-', 1);
      UPDATE "clubs" SET "language" = 'en' WHERE "language" NOT IN ('en', 'pt', 'es', 'fr', 'de', 'it');
      ALTER TABLE "clubs" DROP CONSTRAINT "clubs_language";
      ALTER TABLE "clubs" ADD CONSTRAINT "clubs_language" CHECK (language in ('en', 'pt', 'es', 'fr', 'de', 'it'));
      ALTER TABLE "administrators" DROP COLUMN "language";
      ALTER TABLE "students" DROP COLUMN "language"`);
  }
}
