/**
 * Adds the receipts of signed notices, the progress in the mailbox of reports, and the suppressions that a late delivery may lift (BNC-3,
 * BNC-7, BNC-8).
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MailReports1795780000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE "mail_notice_receipts" ("key" bytea NOT NULL, "body_digest" bytea NOT NULL, "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL, CONSTRAINT "mail_notice_receipts_key" PRIMARY KEY ("key"))`,
    );
    await queryRunner.query(`CREATE INDEX "mail_notice_receipts_expiry" ON "mail_notice_receipts" ("expires_at")`);
    await queryRunner.query(
      `CREATE TABLE "report_mailboxes" ("key" bytea NOT NULL, "validity" bigint NOT NULL DEFAULT '0', "seen_uid" bigint NOT NULL DEFAULT '0', "failed_uid" bigint NOT NULL DEFAULT '0', "failures" integer NOT NULL DEFAULT '0', "fence" integer NOT NULL DEFAULT '0', "lease_until" TIMESTAMP WITH TIME ZONE, CONSTRAINT "report_mailboxes_key" PRIMARY KEY ("key"))`,
    );
    await queryRunner.query(
      `ALTER TABLE "mail_suppressions" ADD COLUMN "from_soft_bounces" boolean NOT NULL DEFAULT false`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "mail_suppressions" DROP COLUMN "from_soft_bounces"`);
    await queryRunner.query(`DROP TABLE "report_mailboxes"`);
    await queryRunner.query(`DROP TABLE "mail_notice_receipts"`);
  }
}
