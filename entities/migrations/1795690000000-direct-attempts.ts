/**
 * Marks the deliveries that are tried without a run, by the process that fanned out the fact. Only a few such deliveries exist at a time.
 * Their index does not contain `lease_until`. Otherwise each claim would add an entry to every index of the table.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "webhook_deliveries" ADD "direct" boolean NOT NULL DEFAULT false;
  CREATE INDEX "webhook_deliveries_direct" ON "webhook_deliveries" ("id") WHERE direct;
`;
const down = `
  DROP INDEX "webhook_deliveries_direct";
  ALTER TABLE "webhook_deliveries" DROP COLUMN "direct";
`;

export class DirectAttempts1795690000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
