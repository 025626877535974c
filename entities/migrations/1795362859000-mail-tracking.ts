/** Links of mails, who followed them, and tallies of what happened to mails (CAMP-13). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const formerLists = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed'`;
const moreLists = `'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked'`;

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;

/** A skipped mail is counted with the skipped ones, and with those of its reason. */
const up = `
  ${lists(`${formerLists}, ${moreLists}`)}
  ALTER TABLE "mails" ADD "machine_opened_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "mails" ADD "machine_clicked_at" TIMESTAMP WITH TIME ZONE;
  CREATE TABLE "mail_links" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "cause_id" uuid NOT NULL,
    "position" smallint NOT NULL,
    "url" text NOT NULL,
    CONSTRAINT "mail_links_key" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "mail_links_cause" ON "mail_links" ("cause_id", "position");
  CREATE INDEX "mail_links_club" ON "mail_links" ("club_id");
  CREATE TABLE "mail_clicks" (
    "mail_id" uuid NOT NULL,
    "link_id" uuid NOT NULL,
    "machine" boolean NOT NULL,
    "at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "last_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mail_clicks_key" PRIMARY KEY ("mail_id", "link_id", "machine")
  );
  CREATE INDEX "mail_clicks_at" ON "mail_clicks" ("at");
  ALTER TABLE "mail_links" ADD CONSTRAINT "mail_links_club_key" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mail_clicks" ADD CONSTRAINT "mail_clicks_mail" FOREIGN KEY ("mail_id") REFERENCES "mails"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  CREATE FUNCTION "mails_lists"(status text, skip_reason text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN skip_reason IS NULL THEN ARRAY[mails_list(status)] ELSE ARRAY[mails_list(status), 'mails_skipped_' || skip_reason] END $$;
  CREATE OR REPLACE FUNCTION "mails_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, list, campaign_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed, unnest(mails_lists(status, skip_reason)) AS list WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION "mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT OLD.club_id, list, OLD.campaign_id, false, -1 FROM unnest(mails_lists(OLD.status, OLD.skip_reason)) AS list
    UNION ALL SELECT NEW.club_id, list, NEW.campaign_id, false, 1 FROM unnest(mails_lists(NEW.status, NEW.skip_reason)) AS list;
    RETURN NULL;
  END $$;
  INSERT INTO "list_tally_changes" (club_id, list, subject_id, marked, records)
  SELECT club_id, 'mails_skipped_' || skip_reason, campaign_id, false, count(*)
    FROM "mails" WHERE campaign_id IS NOT NULL AND skip_reason IS NOT NULL GROUP BY 1, 2, 3;
`;

const down = `
  CREATE OR REPLACE FUNCTION "mails_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, mails_list(status), campaign_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION "mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    VALUES (OLD.club_id, mails_list(OLD.status), OLD.campaign_id, false, -1), (NEW.club_id, mails_list(NEW.status), NEW.campaign_id, false, 1);
    RETURN NULL;
  END $$;
  DROP FUNCTION "mails_lists";
  DROP TABLE "mail_clicks";
  DROP TABLE "mail_links";
  ALTER TABLE "mails" DROP COLUMN "machine_clicked_at";
  ALTER TABLE "mails" DROP COLUMN "machine_opened_at";
  DELETE FROM "list_tally_changes" WHERE list IN (${moreLists});
  DELETE FROM "list_tallies" WHERE list IN (${moreLists});
  ${lists(formerLists)}
`;

export class MailTracking1795362859000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
