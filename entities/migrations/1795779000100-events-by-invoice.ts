/** Indexes the payment processor's events by invoice, while the service runs (BILL-11). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class EventsByInvoice1795779000100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the creation waits for other transactions, and none waits for it
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "billing_events_invoice"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "billing_events_invoice" ON "billing_events" ("invoice_id") WHERE invoice_id IS NOT NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "billing_events_invoice"`);
  }
}
