/**
 * Adds the time since which an endpoint is throttled, the time of the mail to its administrators about that, and `gone` as a reason why
 * an endpoint is disabled.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "webhook_endpoints" ADD "throttled_since" timestamptz, ADD "throttle_mailed_at" timestamptz;
  ALTER TABLE "webhook_endpoints" DROP CONSTRAINT "webhook_endpoints_disabled_reason";
  ALTER TABLE "webhook_endpoints"
    ADD CONSTRAINT "webhook_endpoints_disabled_reason" CHECK (disabled_reason in ('manual', 'failing', 'gone')) NOT VALID;
  ALTER TABLE "webhook_endpoints" VALIDATE CONSTRAINT "webhook_endpoints_disabled_reason";
`;
const down = `
  UPDATE "webhook_endpoints" SET "disabled_reason" = 'failing' WHERE "disabled_reason" = 'gone';
  ALTER TABLE "webhook_endpoints" DROP CONSTRAINT "webhook_endpoints_disabled_reason";
  ALTER TABLE "webhook_endpoints"
    ADD CONSTRAINT "webhook_endpoints_disabled_reason" CHECK (disabled_reason in ('manual', 'failing'));
  ALTER TABLE "webhook_endpoints" DROP COLUMN "throttle_mailed_at", DROP COLUMN "throttled_since";
`;

export class OverloadedEndpoints1795749100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
