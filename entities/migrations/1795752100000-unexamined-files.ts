/**
 * Indexes the pictures and videos that were not examined by the current rules, so that upkeep finds them. The index is made while the
 * service runs. An unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UnexaminedFiles1795752100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "media_unexamined"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "media_unexamined" ON "media" ("id")
        WHERE status = 'ready' AND examined < 1 AND kind IN ('image', 'video') AND purpose IN ('library', 'assignment', 'post')
          AND looks_at IS NULL AND renditions_due_at IS NULL AND removed_at IS NULL AND object_key IS NOT NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "media_unexamined"`);
  }
}
