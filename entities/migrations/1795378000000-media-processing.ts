/** The worker processes files: what it finds, and when it looks (MED-16). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MediaProcessing1795378000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE media
        ADD COLUMN looks_at timestamptz,
        ADD COLUMN processed_at timestamptz,
        ADD COLUMN sha256 bytea,
        ADD COLUMN crc32 bigint,
        ADD COLUMN duration_ms integer,
        ADD CONSTRAINT media_crc32 CHECK (crc32 BETWEEN 0 AND 4294967295),
        ADD CONSTRAINT media_sha256 CHECK (octet_length(sha256) = 32)`);
    await queryRunner.query(`ALTER TABLE media RENAME COLUMN interruptions TO fault_count`);
    // The sweeper wakes what was being inspected: it does not expire while it waits.
    await queryRunner.query(
      `UPDATE media SET looks_at = updated_at, erases_at = NULL, lease_until = NULL WHERE status = 'processing' AND removed_at IS NULL`,
    );
    await queryRunner.query(`DROP INDEX media_processing`);
    await queryRunner.query(`CREATE INDEX media_looks_at ON media (looks_at) WHERE looks_at IS NOT NULL`);
    await queryRunner.query(
      `CREATE INDEX media_unprocessed ON media (id)
        WHERE status = 'ready' AND processed_at IS NULL AND looks_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX media_unprocessed`);
    await queryRunner.query(`DROP INDEX media_looks_at`);
    await queryRunner.query(`CREATE INDEX media_processing ON media (updated_at) WHERE status = 'processing'`);
    await queryRunner.query(`ALTER TABLE media RENAME COLUMN fault_count TO interruptions`);
    await queryRunner.query(`
      ALTER TABLE media DROP COLUMN looks_at, DROP COLUMN processed_at, DROP COLUMN sha256, DROP COLUMN crc32,
        DROP COLUMN duration_ms`);
  }
}
