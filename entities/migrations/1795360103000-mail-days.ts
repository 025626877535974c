/** The days of mails that a club sends on its own account. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "transactional_mails" ADD "placed_on" date;
  CREATE TABLE "club_mail_days" (
    "club_id" uuid NOT NULL,
    "day" date NOT NULL,
    "mails" integer NOT NULL,
    CONSTRAINT "club_mail_days_key" PRIMARY KEY ("club_id", "day")
  );
  CREATE INDEX "club_mail_days_day" ON "club_mail_days" ("day");
  ALTER TABLE "club_mail_days" ADD CONSTRAINT "club_mail_days_club" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "club_mail_days";
  ALTER TABLE "transactional_mails" DROP COLUMN "placed_on";
`;

export class MailDays1795360103000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
