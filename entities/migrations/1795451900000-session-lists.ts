/** Sessions of mentorships as a list of a million: tallies of days for totals, an index for each status (ADR 11). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked', 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed', 'submissions_submitted', 'submissions_approved', 'submissions_changes_requested', 'media_video', 'media_image', 'media_audio', 'media_pdf', 'media_file', 'media_embed', 'space_members', 'space_posts', 'post_comments', 'reactions_like', 'reactions_love', 'reactions_celebrate', 'reactions_insightful', 'reactions_support', 'reactions_laugh', 'reports_open', 'moderations'`;
const listsOfSessions = `'sessions_booked', 'sessions_canceled', 'sessions_no_show'`;

/** A session is counted with the day on which it begins, by UTC: an id of that many days since 1970, so ids are in the order of days. */
const day = `lpad(to_hex(floor(extract(epoch FROM starts_at) / 86400)::bigint), 32, '0')::uuid`;
const counted = `club_id, 'sessions_' || status, ${day}, false`;

const up = `
  ${lists(`${listsBefore}, ${listsOfSessions}`)}
  CREATE INDEX "mentorship_sessions_canceled_ones" ON "mentorship_sessions" ("club_id", "starts_at", "id") WHERE status = 'canceled';
  CREATE INDEX "mentorship_sessions_no_shows" ON "mentorship_sessions" ("club_id", "starts_at", "id") WHERE status = 'no_show';
  CREATE FUNCTION "mentorship_sessions_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT ${counted}, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END FROM changed GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "mentorship_sessions_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT ${counted}, sum(sign) FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     GROUP BY 1, 2, 3 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "mentorship_sessions_tallied_in" AFTER INSERT ON "mentorship_sessions"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "mentorship_sessions_tallied"();
  CREATE TRIGGER "mentorship_sessions_tallied_out" AFTER DELETE ON "mentorship_sessions"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "mentorship_sessions_tallied"();
  CREATE TRIGGER "mentorship_sessions_retallied" AFTER UPDATE OF status, starts_at ON "mentorship_sessions" FOR EACH ROW
    WHEN ((OLD.status, OLD.starts_at) IS DISTINCT FROM (NEW.status, NEW.starts_at))
    EXECUTE FUNCTION "mentorship_sessions_retallied"();
  -- After the triggers, whose creation keeps writers out until the commit.
  INSERT INTO "list_tallies" (club_id, list, subject_id, marked, records)
  SELECT ${counted}, count(*) FROM "mentorship_sessions" GROUP BY 1, 2, 3;
`;

const down = `
  DROP TRIGGER "mentorship_sessions_retallied" ON "mentorship_sessions";
  DROP TRIGGER "mentorship_sessions_tallied_out" ON "mentorship_sessions";
  DROP TRIGGER "mentorship_sessions_tallied_in" ON "mentorship_sessions";
  DROP FUNCTION "mentorship_sessions_retallied";
  DROP FUNCTION "mentorship_sessions_tallied";
  DROP INDEX "mentorship_sessions_no_shows";
  DROP INDEX "mentorship_sessions_canceled_ones";
  DELETE FROM "list_tallies" WHERE list in (${listsOfSessions});
  DELETE FROM "list_tally_changes" WHERE list in (${listsOfSessions});
  ${lists(listsBefore)}
`;

export class SessionLists1795451900000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
