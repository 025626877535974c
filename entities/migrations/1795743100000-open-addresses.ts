/**
 * Indexes the addresses of uploads by club and end, so that valid addresses can be counted. The index is made while the service runs. An
 * unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OpenAddresses1795743100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "media_addresses"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "media_addresses" ON "media" ("club_id", "upload_expires_at") WHERE address_bytes IS NOT NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "media_addresses"`);
  }
}
