/**
 * Addresses of uploads by club and end, so that those that are good are counted. Made while the service runs; an index that an
 * interrupted run left unfinished is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OpenAddresses1795743100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY refuses one. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // it waits for others, and nobody for it
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
