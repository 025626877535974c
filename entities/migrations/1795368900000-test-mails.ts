/** Copies of campaigns' e-mails for members of the club. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "test_mails" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "campaign_id" uuid NOT NULL,
    "administrator_id" uuid NOT NULL,
    "status" text NOT NULL DEFAULT 'pending',
    "last_error" text,
    "attempt_count" smallint NOT NULL DEFAULT '0',
    "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "sent_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "test_mails_status" CHECK (status in ('pending', 'sent', 'failed', 'canceled')),
    CONSTRAINT "test_mails_key" PRIMARY KEY ("id")
  );
  CREATE INDEX "test_mails_due" ON "test_mails" ("next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "test_mails_campaign" ON "test_mails" ("campaign_id", "created_at", "id");
  ALTER TABLE "test_mails" ADD CONSTRAINT "test_mails_club" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "test_mails" ADD CONSTRAINT "test_mails_of_campaign" FOREIGN KEY ("campaign_id") REFERENCES "campaigns"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "test_mails" ADD CONSTRAINT "test_mails_administrator" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

export class TestMails1795368900000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "test_mails"`);
  }
}
