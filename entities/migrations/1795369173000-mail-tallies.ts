/** Counts changed mails once for each statement, not once for each mail: campaigns claim, record and cancel many at a time. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Mails that stay in their lists, as those that are claimed, cancel out. */
const up = `
  DROP TRIGGER "mails_retallied" ON "mails";
  CREATE OR REPLACE FUNCTION "mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, list, campaign_id, false, sum(step) FROM (
      SELECT club_id, campaign_id, status, skip_reason, -1 AS step FROM former
      UNION ALL SELECT club_id, campaign_id, status, skip_reason, 1 FROM changed) AS steps, unnest(mails_lists(status, skip_reason)) AS list
     WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3 HAVING sum(step) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "mails_retallied" AFTER UPDATE ON "mails"
    REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "mails_retallied"();
`;

const down = `
  DROP TRIGGER "mails_retallied" ON "mails";
  CREATE OR REPLACE FUNCTION "mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT OLD.club_id, list, OLD.campaign_id, false, -1 FROM unnest(mails_lists(OLD.status, OLD.skip_reason)) AS list
    UNION ALL SELECT NEW.club_id, list, NEW.campaign_id, false, 1 FROM unnest(mails_lists(NEW.status, NEW.skip_reason)) AS list;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "mails_retallied" AFTER UPDATE OF status ON "mails" FOR EACH ROW
    WHEN (NEW.campaign_id IS NOT NULL AND mails_list(OLD.status) <> mails_list(NEW.status))
    EXECUTE FUNCTION "mails_retallied"();
`;

export class MailTallies1795369173000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
