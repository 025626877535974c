/**
 * Adds the language of each certificate, and the letters of its texts that no font contains (CERT-4, CERT-5). For a certificate without a
 * language, the language of its club applies. Triggers write the club's language into each new row. When a club changes its language,
 * triggers first write the old language into the older rows. Processes of the previous version do not write the column, so triggers do this
 * work.
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
