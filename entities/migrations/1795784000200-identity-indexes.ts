/**
 * Indexes the sessions by their identity provider, and the codes by their join. The indexes are made while the service runs. An unfinished
 * index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const indexes = [
  [
    'administrator_sessions_provider',
    `"administrator_sessions" ("provider_id", "administrator_id") WHERE provider_id IS NOT NULL`,
  ],
  ['one_time_tokens_identity_join', `"one_time_tokens" ("identity_join_id") WHERE identity_join_id IS NOT NULL`],
] as const;

export class IdentityIndexes1795784000200 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    for (const [name, on] of indexes) {
      await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
      await queryRunner.query(`CREATE INDEX CONCURRENTLY "${name}" ON ${on}`);
    }
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const [name] of indexes) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
