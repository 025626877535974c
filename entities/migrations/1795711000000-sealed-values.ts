/**
 * Indexes sealed values by their beginning, because it contains the id of the key. So a process that starts finds the values whose key is
 * missing, and `reseal` finds the values that it must seal again. No other values are read. The migration creates the indexes while the
 * service
 * runs. If a run was interrupted, the next run creates the unfinished index again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const sealed = {
  webhook_endpoints_secret_key: ['webhook_endpoints', 'secret'],
  webhook_endpoints_previous_secret_key: ['webhook_endpoints', 'previous_secret'],
  sales_connections_secret_key: ['sales_connections', 'secret'],
  sales_notices_proof_key: ['sales_notices', 'proof'],
  mail_domains_private_key_key: ['mail_domains', 'sealed_private_key'],
  transactional_mails_address_seal_key: ['transactional_mails', 'sealed_address'],
} as const;

export class SealedValues1795711000000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    for (const [name, [table, column]] of Object.entries(sealed)) {
      await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
      await queryRunner.query(
        `CREATE INDEX CONCURRENTLY "${name}" ON "${table}" (substr("${column}", 1, 5), "id") WHERE "${column}" IS NOT NULL`,
      );
    }
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const name of Object.keys(sealed)) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
