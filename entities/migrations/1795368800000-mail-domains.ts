/** The mail domains of clubs, and the days of the mails that leave from them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "mail_domains" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "domain" text NOT NULL,
    "local_part" text NOT NULL,
    "selector" text NOT NULL,
    "public_key" text NOT NULL,
    "sealed_private_key" bytea NOT NULL,
    "status" text NOT NULL DEFAULT 'unproven',
    "status_since" TIMESTAMP WITH TIME ZONE NOT NULL,
    "first_proven_at" TIMESTAMP WITH TIME ZONE,
    "found" jsonb NOT NULL DEFAULT '{}',
    "answered_at" TIMESTAMP WITH TIME ZONE,
    "checked_at" TIMESTAMP WITH TIME ZONE,
    "looks_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mail_domains_proven" CHECK (status = 'unproven' OR first_proven_at IS NOT NULL),
    CONSTRAINT "mail_domains_status" CHECK (status in ('unproven', 'proven', 'lapsed')),
    CONSTRAINT "mail_domains_key" PRIMARY KEY ("id")
  );
  CREATE INDEX "mail_domains_due" ON "mail_domains" ("looks_at");
  CREATE UNIQUE INDEX "mail_domains_club" ON "mail_domains" ("club_id");
  CREATE TABLE "club_bulk_days" (
    "club_id" uuid NOT NULL,
    "day" date NOT NULL,
    "mails" integer NOT NULL,
    CONSTRAINT "club_bulk_days_key" PRIMARY KEY ("club_id", "day")
  );
  CREATE INDEX "club_bulk_days_day" ON "club_bulk_days" ("day");
  ALTER TABLE "mail_domains" ADD CONSTRAINT "mail_domains_of_club" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "club_bulk_days" ADD CONSTRAINT "club_bulk_days_club" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "club_bulk_days";
  DROP TABLE "mail_domains";
`;

export class MailDomains1795368800000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
