/** Inspections of files are claimed, once at a time, under a lease (DEC-54). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MediaInspection1795354367000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE media
        ADD COLUMN fence integer NOT NULL DEFAULT 0,
        ADD COLUMN lease_until timestamptz,
        ADD COLUMN interruptions smallint NOT NULL DEFAULT 0`);
    await queryRunner.query(`CREATE INDEX media_processing ON media (updated_at) WHERE status = 'processing'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX media_processing`);
    await queryRunner.query(`ALTER TABLE media DROP COLUMN fence, DROP COLUMN lease_until, DROP COLUMN interruptions`);
  }
}
