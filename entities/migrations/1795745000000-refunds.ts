/**
 * Adds the refunded amount of a purchase, the effect of a partial refund on access, and the number of decimals with which an amount was
 * read. Older releases neither write nor read these columns.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "products" ADD "partial_refund_ends_access" boolean NOT NULL DEFAULT false;
  ALTER TABLE "purchases" ADD "refunded_amount" bigint;
  ALTER TABLE "purchases" ADD "amount_decimals" smallint;
  ALTER TABLE "purchases" ADD "undone_at" timestamptz;
`;
const down = `
  ALTER TABLE "purchases" DROP COLUMN "undone_at";
  ALTER TABLE "purchases" DROP COLUMN "amount_decimals";
  ALTER TABLE "purchases" DROP COLUMN "refunded_amount";
  ALTER TABLE "products" DROP COLUMN "partial_refund_ends_access";
`;

export class Refunds1795745000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
