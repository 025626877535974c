/**
 * Indexes sources by the version of the readers that read them last. The index is made while the service runs. An unfinished index of an
 * interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SourcesByReader1795753000100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "agent_sources_reader"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "agent_sources_reader" ON "agent_sources" ("reader_version", "club_id", "id") WHERE looks_at IS NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "agent_sources_reader"`);
  }
}
