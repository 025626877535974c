/** Who is a member of which space, counted by tallies (ADR 11); the run that brings a space's memberships up to date (ADR 31). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked', 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed', 'submissions_submitted', 'submissions_approved', 'submissions_changes_requested', 'media_video', 'media_image', 'media_audio', 'media_pdf', 'media_file', 'media_embed'`;

const useKinds = (names: string) => `
  ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
  ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${names}));
`;
const useKindsBefore = `'lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version', 'assignment', 'assignment_review', 'repository'`;

const isMember = `left_at IS NULL AND banned_at IS NULL`;

const tallies = `
  CREATE FUNCTION "community_memberships_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_members', space_id, counted, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE ${isMember} GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "community_memberships_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_members', space_id, counted, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE ${isMember} GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "community_memberships_tallied_in" AFTER INSERT ON "community_memberships"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "community_memberships_tallied"();
  CREATE TRIGGER "community_memberships_tallied_out" AFTER DELETE ON "community_memberships"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "community_memberships_tallied"();
  CREATE TRIGGER "community_memberships_retallied" AFTER UPDATE OF left_at, banned_at, counted ON "community_memberships" FOR EACH ROW
    WHEN ((OLD.left_at, OLD.banned_at, OLD.counted) IS DISTINCT FROM (NEW.left_at, NEW.banned_at, NEW.counted))
    EXECUTE FUNCTION "community_memberships_retallied"();
`;

const up = `
  ${lists(`${listsBefore}, 'space_members'`)}
  ${useKinds(`${useKindsBefore}, 'space'`)}
  ALTER TABLE "community_spaces" DROP COLUMN "cover_media_id";
  ALTER TABLE "community_spaces" DROP COLUMN "member_count";
  ALTER TABLE "community_spaces" ADD "fill_looks_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "community_spaces" ADD "fill_after" uuid;
  ALTER TABLE "community_spaces" ADD "fill_barrier" text;
  CREATE INDEX "community_spaces_fill" ON "community_spaces" ("fill_looks_at") WHERE fill_looks_at IS NOT NULL;
  CREATE TABLE "community_memberships" (
    "space_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "joined_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "left_at" TIMESTAMP WITH TIME ZONE,
    "banned_at" TIMESTAMP WITH TIME ZONE,
    "read_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "muted" boolean NOT NULL DEFAULT false,
    "digest" boolean NOT NULL,
    "counted" boolean NOT NULL,
    "looks_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "community_memberships_stands" CHECK ((left_at IS NULL AND banned_at IS NULL) OR (NOT counted AND looks_at IS NULL)),
    CONSTRAINT "PK_20ad09dbe8c449ab71ca795f444" PRIMARY KEY ("space_id", "student_id")
  );
  CREATE INDEX "community_memberships_student" ON "community_memberships" ("student_id");
  CREATE INDEX "community_memberships_looks_at" ON "community_memberships" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "community_memberships_banned" ON "community_memberships" ("space_id", "banned_at", "student_id") WHERE banned_at IS NOT NULL;
  CREATE INDEX "community_memberships_members" ON "community_memberships" ("space_id", "joined_at", "student_id") WHERE ${isMember};
  ALTER TABLE "community_memberships" ADD CONSTRAINT "FK_f7654154aeaa6b739fe71c4f7c6" FOREIGN KEY ("space_id") REFERENCES "community_spaces"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_memberships" ADD CONSTRAINT "FK_380b6291505cf39b7af19af0dc9" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ${tallies}
`;

const down = `
  DROP TABLE "community_memberships";
  DROP FUNCTION "community_memberships_retallied";
  DROP FUNCTION "community_memberships_tallied";
  DROP INDEX "community_spaces_fill";
  ALTER TABLE "community_spaces" DROP COLUMN "fill_barrier";
  ALTER TABLE "community_spaces" DROP COLUMN "fill_after";
  ALTER TABLE "community_spaces" DROP COLUMN "fill_looks_at";
  ALTER TABLE "community_spaces" ADD "member_count" integer NOT NULL DEFAULT 0;
  ALTER TABLE "community_spaces" ADD "cover_media_id" uuid;
  ALTER TABLE "community_spaces" ADD CONSTRAINT "FK_40c151c3ec4854536eda9441b6f" FOREIGN KEY ("cover_media_id") REFERENCES "media"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  DELETE FROM "media_uses" WHERE kind = 'space';
  ${useKinds(useKindsBefore)}
  DELETE FROM "list_tally_changes" WHERE list = 'space_members';
  DELETE FROM "list_tallies" WHERE list = 'space_members';
  ${lists(listsBefore)}
`;

export class CommunityMemberships1795399000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
