/** Indexes the subscriptions of a club by their last change (CUR-9). The index is made while the service runs. A repeated run makes it again. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ChangedSubscriptions1795777000200 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "subscriptions_changed"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "subscriptions_changed" ON "subscriptions" ("club_id", "changed_at")`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "subscriptions_changed"`);
  }
}
