/**
 * Stores every slug under which a club answers. Processes of the older release insert clubs, but do not know this table. So two triggers do
 * the work for them. One trigger adds the row of a new club. The other trigger refuses a former slug of another club, as long as that club
 * still answers under the slug.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * This trigger skips the new club's row as if `ON CONFLICT (slug) DO NOTHING` had found a conflict. The caller then tries another slug. If
 * another transaction is just changing the owner of the slug, the trigger's lock waits for that transaction.
 */
const skipFormer = `
  CREATE FUNCTION "club_slug_skip_former"() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    free_at timestamptz;
  BEGIN
    SELECT answers_until INTO free_at FROM club_slugs WHERE slug = NEW.slug FOR SHARE;
    IF free_at > NEW.created_at THEN
      RETURN NULL;
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER "clubs_skip_former_slug" BEFORE INSERT ON "clubs"
    FOR EACH ROW EXECUTE FUNCTION "club_slug_skip_former"();`;

/**
 * Replaces the row of the slug if the row has expired. If the row has not expired, another club still answers under the slug. The insertion
 * then fails like a violation of a unique key.
 */
const recordCurrent = `
  CREATE FUNCTION "club_slug_record"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_slugs AS held (slug, club_id) VALUES (NEW.slug, NEW.id)
      ON CONFLICT (slug) DO UPDATE SET club_id = NEW.id, answers_until = NULL WHERE held.answers_until <= NEW.created_at;
    IF NOT FOUND THEN
      RAISE unique_violation USING MESSAGE = 'the slug belongs to another club', CONSTRAINT = 'club_slugs_held', TABLE = 'club_slugs';
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "clubs_record_slug" AFTER INSERT ON "clubs"
    FOR EACH ROW EXECUTE FUNCTION "club_slug_record"();`;

export class ClubSlugs1795764000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "club_slugs" (
        "slug" text NOT NULL,
        "club_id" uuid NOT NULL,
        "answers_until" timestamptz,
        CONSTRAINT "PK_30ad84059888a9fc1d793b717cc" PRIMARY KEY ("slug"),
        CONSTRAINT "FK_46a854a9af76e02baf0ae94bbd7" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "club_slugs_club" ON "club_slugs" ("club_id");
      CREATE UNIQUE INDEX "club_slugs_current" ON "club_slugs" ("club_id") WHERE answers_until IS NULL;
      ${skipFormer}
      ${recordCurrent}
      INSERT INTO club_slugs (slug, club_id) SELECT slug, id FROM clubs`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TRIGGER "clubs_record_slug" ON "clubs";
      DROP TRIGGER "clubs_skip_former_slug" ON "clubs";
      DROP FUNCTION "club_slug_record";
      DROP FUNCTION "club_slug_skip_former";
      DROP TABLE "club_slugs"`);
  }
}
