/** What mail providers tell of mails (CAMP-15). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "mails" ADD "provider_id" text;
  ALTER TABLE "mails" ADD "soft_bounced_at" TIMESTAMP WITH TIME ZONE;
  CREATE INDEX "mails_provider" ON "mails" ("provider_id") WHERE provider_id IS NOT NULL;
  CREATE TABLE "mail_soft_bounces" (
    "mail_id" uuid NOT NULL,
    "at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mail_soft_bounces_key" PRIMARY KEY ("mail_id", "at")
  );
  CREATE INDEX "mail_soft_bounces_at" ON "mail_soft_bounces" ("at");
  ALTER TABLE "mail_soft_bounces" ADD CONSTRAINT "mail_soft_bounces_mail" FOREIGN KEY ("mail_id") REFERENCES "mails"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "mail_soft_bounces";
  ALTER TABLE "mails" DROP COLUMN "soft_bounced_at";
  ALTER TABLE "mails" DROP COLUMN "provider_id";
`;

export class MailNotices1795365700000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
