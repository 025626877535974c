/**
 * Deliveries whose first attempt is made without a run, by the process that fanned the fact out: few at a time. Their index leaves
 * `lease_until` out, because a claim would write every other index anew if it changed an indexed column.
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
