/**
 * Adds the time of the last change to the records of lists with `updated_since` (ADR 79). A trigger writes it, so that no statement can
 * forget it. Each table is changed alone and briefly. A repeated run goes on after an interrupted one. Records of before count as changed now.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = [
  'access_deliveries',
  'agents',
  'assignment_extensions',
  'assignments',
  'automations',
  'campaigns',
  'cohorts',
  'community_spaces',
  'courses',
  'media_folders',
  'mentorships',
  'products',
  'purchases',
  'subscriptions',
  'webhook_endpoints',
] as const;

export class ChangesOfRecords1795777000000 implements MigrationInterface {
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    // The transaction gets its id before it reads the clock. So a reader who sees no id knows that a later change has a later time.
    await queryRunner.query(`
      CREATE OR REPLACE FUNCTION record_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_current_xact_id();
        NEW.changed_at := greatest(clock_timestamp(), NEW.updated_at);
        RETURN NEW;
      END $$`);
    for (const table of tables)
      await queryRunner.query(`
        ALTER TABLE "${table}" ADD COLUMN IF NOT EXISTS "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
        CREATE OR REPLACE TRIGGER "${table}_changed" BEFORE INSERT OR UPDATE ON "${table}"
          FOR EACH ROW EXECUTE FUNCTION record_changed()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of tables)
      await queryRunner.query(
        `DROP TRIGGER IF EXISTS "${table}_changed" ON "${table}"; ALTER TABLE "${table}" DROP COLUMN IF EXISTS "changed_at"`,
      );
    await queryRunner.query('DROP FUNCTION record_changed');
  }
}
