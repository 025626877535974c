/** Rates since a campaign was resumed, and statistics that outlive its recipients (CAMP-16, CAMP-17). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "campaigns" ADD "judged_sent" integer NOT NULL DEFAULT '0';
  ALTER TABLE "campaigns" ADD "judged_bounced" integer NOT NULL DEFAULT '0';
  ALTER TABLE "campaigns" ADD "judged_complained" integer NOT NULL DEFAULT '0';
  ALTER TABLE "campaigns" ADD "final_statistics" jsonb;
  ALTER TABLE "campaigns" ADD "rows_removed_at" TIMESTAMP WITH TIME ZONE;
  CREATE INDEX "campaigns_ended" ON "campaigns" ("ended_at") WHERE ended_at IS NOT NULL AND rows_removed_at IS NULL;
`;

const down = `
  DROP INDEX "campaigns_ended";
  ALTER TABLE "campaigns" DROP COLUMN "rows_removed_at";
  ALTER TABLE "campaigns" DROP COLUMN "final_statistics";
  ALTER TABLE "campaigns" DROP COLUMN "judged_complained";
  ALTER TABLE "campaigns" DROP COLUMN "judged_bounced";
  ALTER TABLE "campaigns" DROP COLUMN "judged_sent";
`;

export class CampaignRetention1795369300000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
