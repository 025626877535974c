/** What the access of a subscription was brought to last. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "subscriptions" ADD "access_target" jsonb NOT NULL DEFAULT '{"kind":"open"}';
  UPDATE "subscriptions" subscription
     SET "access_target" = jsonb_build_object('kind', 'canceled', 'periodEnd', (
           SELECT to_char(period_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM subscription_marks
            WHERE subscription_id = subscription.id AND kind = 'canceled' ORDER BY at DESC LIMIT 1))
   WHERE status = 'canceled';
`;

const down = `
  ALTER TABLE "subscriptions" DROP COLUMN "access_target";
`;

export class SubscriptionTargets1763749100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
