/**
 * Reserves the slug of an erased club. Processes of the older release do not know such slugs, so the trigger that skips former slugs skips
 * them, too (ERS-8).
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** @param condition another condition under which a new club must not get the slug */
const skipTaken = (condition: string) => `
  CREATE OR REPLACE FUNCTION "club_slug_skip_former"() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    free_at timestamptz;
  BEGIN
    SELECT answers_until INTO free_at FROM club_slugs WHERE slug = NEW.slug FOR SHARE;
    IF free_at > NEW.created_at${condition} THEN
      RETURN NULL;
    END IF;
    RETURN NEW;
  END $$`;

export class SlugsOfErasedClubs1795786100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(skipTaken(' OR EXISTS (SELECT FROM erasures WHERE slug = NEW.slug)'));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(skipTaken(''));
  }
}
