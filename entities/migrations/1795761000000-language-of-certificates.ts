/**
 * Adds the language of each certificate, and its letters that no font contains (CERT-4, CERT-5). A row without a language has the
 * language of its club. Triggers write this language into each new row, and into the older rows when the club changes its language. So
 * the triggers also serve processes of the previous version.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "certificates" ADD "language" text, ADD "warnings" jsonb NOT NULL DEFAULT '[]';
  CREATE FUNCTION "certificate_language"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.language IS NULL THEN
        NEW.language := (SELECT club.language FROM clubs club WHERE club.id = NEW.club_id);
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER "certificates_language" BEFORE INSERT ON "certificates"
    FOR EACH ROW EXECUTE FUNCTION "certificate_language"();
  CREATE FUNCTION "certificates_keep_language"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE certificates SET language = OLD.language WHERE club_id = OLD.id AND language IS NULL;
      RETURN NEW;
    END $$;
  CREATE TRIGGER "clubs_keep_language_of_certificates" BEFORE UPDATE OF language ON "clubs"
    FOR EACH ROW WHEN (OLD.language IS DISTINCT FROM NEW.language) EXECUTE FUNCTION "certificates_keep_language"();
`;
const down = `
  DROP TRIGGER "clubs_keep_language_of_certificates" ON "clubs";
  DROP FUNCTION "certificates_keep_language"();
  DROP TRIGGER "certificates_language" ON "certificates";
  DROP FUNCTION "certificate_language"();
  ALTER TABLE "certificates" DROP COLUMN "warnings", DROP COLUMN "language";
`;

export class LanguageOfCertificates1795761000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
