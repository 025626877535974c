/** The library as a list of a million: tallies for its totals, an index for each filter, trigrams for its search. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked', 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed', 'submissions_submitted', 'submissions_approved', 'submissions_changes_requested'`;

/** A file is counted with its folder and with the whole library, which have ids that no folder has. */
const subjects = `unnest(ARRAY['ffffffff-ffff-ffff-ffff-ffffffffffff', coalesce(folder_id, '00000000-0000-0000-0000-000000000000')]) AS subject`;
const listed = `purpose = 'library' AND removed_at IS NULL`;

const up = `
  ${lists(`${listsBefore}, 'media_video', 'media_image', 'media_audio', 'media_pdf', 'media_file', 'media_embed'`)}
  DROP INDEX "media_library";
  DROP INDEX "media_folder";
  CREATE INDEX "media_library" ON "media" ("club_id", "archived", "created_at", "id") WHERE ${listed};
  CREATE INDEX "media_library_type" ON "media" ("club_id", "archived", "type", "created_at", "id") WHERE ${listed};
  CREATE INDEX "media_library_top" ON "media" ("club_id", "archived", "type", "created_at", "id") WHERE ${listed} AND folder_id IS NULL;
  CREATE INDEX "media_folder" ON "media" ("folder_id", "archived", "type", "created_at", "id") WHERE folder_id IS NOT NULL;
  -- What waits to be sorted into it is read by every search: it is kept short.
  CREATE INDEX "media_search" ON "media" USING gin (title gin_trgm_ops, file_name gin_trgm_ops) WITH (gin_pending_list_limit = 256) WHERE ${listed};
  CREATE FUNCTION "media_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'media_' || type, subject::uuid, archived, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed, ${subjects} WHERE ${listed} GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "media_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'media_' || type, subject::uuid, archived, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed, ${subjects}
     WHERE ${listed} GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_tallied_in" AFTER INSERT ON "media"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "media_tallied"();
  CREATE TRIGGER "media_tallied_out" AFTER DELETE ON "media"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "media_tallied"();
  -- The screen type follows from others, so no column is named.
  CREATE TRIGGER "media_retallied" AFTER UPDATE ON "media" FOR EACH ROW
    WHEN ((OLD.archived, OLD.type, OLD.folder_id, OLD.removed_at) IS DISTINCT FROM (NEW.archived, NEW.type, NEW.folder_id, NEW.removed_at))
    EXECUTE FUNCTION "media_retallied"();
  -- After the triggers, whose creation keeps writers out until the commit.
  INSERT INTO "list_tallies" (club_id, list, subject_id, marked, records)
  SELECT club_id, 'media_' || type, subject::uuid, archived, count(*) FROM "media", ${subjects} WHERE ${listed} GROUP BY 1, 2, 3, 4;
`;

const down = `
  DROP TRIGGER "media_retallied" ON "media";
  DROP TRIGGER "media_tallied_out" ON "media";
  DROP TRIGGER "media_tallied_in" ON "media";
  DROP FUNCTION "media_retallied";
  DROP FUNCTION "media_tallied";
  DROP INDEX "media_search";
  DROP INDEX "media_folder";
  DROP INDEX "media_library_top";
  DROP INDEX "media_library_type";
  DROP INDEX "media_library";
  CREATE INDEX "media_folder" ON "media" ("folder_id") WHERE folder_id IS NOT NULL;
  CREATE INDEX "media_library" ON "media" ("club_id", "created_at", "id") WHERE ${listed};
  DELETE FROM "list_tallies" WHERE list LIKE 'media_%';
  DELETE FROM "list_tally_changes" WHERE list LIKE 'media_%';
  ${lists(listsBefore)}
`;

export class MediaLists1795378500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
