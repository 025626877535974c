/** Notices are found by the addresses in them, at a removal and at a correction of an address. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NoticeAddresses1763749000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // What waits to be sorted in is read by every search: it is kept short.
    await queryRunner.query(
      `CREATE INDEX "sales_notices_addresses" ON "sales_notices" USING gin ("addresses") WITH (gin_pending_list_limit = 256)`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "sales_notices_addresses"`);
  }
}
