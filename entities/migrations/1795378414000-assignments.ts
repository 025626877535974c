/** Assignments of lessons, what students hand in, and its review; mails that tell of reviews; the review queue's tallies (ADR 11). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked', 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed'`;

const purposes = (ofStudents: string) => `
  ALTER TABLE "media" DROP CONSTRAINT "media_purpose";
  ALTER TABLE "media" ADD CONSTRAINT "media_purpose" CHECK ((purpose = 'library' AND owner_id IS NULL) OR (${ofStudents} AND owner_id IS NOT NULL));
`;

const tallies = `
  CREATE FUNCTION "assignment_submissions_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'submissions_' || status, '00000000-0000-0000-0000-000000000000', false,
           CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed GROUP BY 1, 2;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "assignment_submissions_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT NEW.club_id, 'submissions_' || change.status, '00000000-0000-0000-0000-000000000000', false, change.records
      FROM (VALUES (OLD.status, -1), (NEW.status, 1)) AS change (status, records);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "assignment_submissions_tallied_in" AFTER INSERT ON "assignment_submissions"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "assignment_submissions_tallied"();
  CREATE TRIGGER "assignment_submissions_tallied_out" AFTER DELETE ON "assignment_submissions"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "assignment_submissions_tallied"();
  CREATE TRIGGER "assignment_submissions_retallied" AFTER UPDATE OF status ON "assignment_submissions" FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION "assignment_submissions_retallied"();
`;

const up = `
  ${lists(`${listsBefore}, 'submissions_submitted', 'submissions_approved', 'submissions_changes_requested'`)}
  ${purposes(`purpose in ('agent_image', 'assignment')`)}
  CREATE TABLE "assignments" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "lesson_id" uuid NOT NULL,
    "block_label" text,
    "prompt" text NOT NULL,
    "position" integer NOT NULL,
    "due_at" TIMESTAMP WITH TIME ZONE,
    "closes_at" TIMESTAMP WITH TIME ZONE,
    "takes_text" boolean NOT NULL,
    "max_files" smallint NOT NULL,
    "required" boolean NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "removed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "assignments_dates" CHECK (due_at <= closes_at),
    CONSTRAINT "assignments_takes_something" CHECK (takes_text OR max_files > 0),
    CONSTRAINT "assignments_max_files" CHECK (max_files BETWEEN 0 AND 10),
    CONSTRAINT "PK_c54ca359535e0012b04dcbd80ee" PRIMARY KEY ("id")
  );
  CREATE INDEX "assignments_lesson" ON "assignments" ("lesson_id", "position", "id");
  CREATE TABLE "assignment_submissions" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "assignment_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "status" text NOT NULL,
    "last_number" integer NOT NULL,
    "due_at" TIMESTAMP WITH TIME ZONE,
    "first_submitted_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "submitted_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "file_count" smallint NOT NULL,
    "reviewed_at" TIMESTAMP WITH TIME ZONE,
    "late" boolean,
    CONSTRAINT "assignment_submissions_reviewed" CHECK ((reviewed_at IS NULL) = (status = 'submitted')),
    CONSTRAINT "assignment_submissions_late" CHECK ((late IS NOT NULL) = (status = 'approved')),
    CONSTRAINT "assignment_submissions_status" CHECK (status in ('submitted', 'approved', 'changes_requested')),
    CONSTRAINT "PK_0caedc49d0357bedac05ca5a806" PRIMARY KEY ("id")
  );
  CREATE INDEX "assignment_submissions_assignment" ON "assignment_submissions" ("assignment_id");
  CREATE INDEX "assignment_submissions_by_status" ON "assignment_submissions" ("club_id", "status", "submitted_at", "id");
  CREATE INDEX "assignment_submissions_club" ON "assignment_submissions" ("club_id", "submitted_at", "id");
  CREATE UNIQUE INDEX "assignment_submissions_student_assignment" ON "assignment_submissions" ("student_id", "assignment_id");
  CREATE TABLE "assignment_attempts" (
    "id" uuid NOT NULL,
    "submission_id" uuid NOT NULL,
    "number" integer NOT NULL,
    "text" text,
    "submitted_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_803b15e8f276c652eb0606220fe" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "assignment_attempts_number" ON "assignment_attempts" ("submission_id", "number");
  CREATE TABLE "assignment_reviews" (
    "id" uuid NOT NULL,
    "attempt_id" uuid NOT NULL,
    "outcome" text NOT NULL,
    "comment" text,
    "reviewer_id" uuid,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "assignment_reviews_comment" CHECK (comment IS NOT NULL OR outcome = 'approved'),
    CONSTRAINT "assignment_reviews_outcome" CHECK (outcome in ('approved', 'changes_requested')),
    CONSTRAINT "PK_7c1823f477d3e4e157b3f55a2fd" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "assignment_reviews_attempt" ON "assignment_reviews" ("attempt_id");
  CREATE INDEX "assignment_reviews_reviewer" ON "assignment_reviews" ("reviewer_id");
  CREATE TABLE "assignment_attempt_files" (
    "media_id" uuid NOT NULL,
    "attempt_id" uuid NOT NULL,
    "position" smallint NOT NULL,
    CONSTRAINT "PK_3405a0a2294037b5059da17a605" PRIMARY KEY ("media_id")
  );
  CREATE UNIQUE INDEX "assignment_attempt_files_attempt" ON "assignment_attempt_files" ("attempt_id", "position");
  CREATE TABLE "assignment_extensions" (
    "assignment_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "due_at" TIMESTAMP WITH TIME ZONE,
    "closes_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "assignment_extensions_moves_something" CHECK (num_nonnulls(due_at, closes_at) > 0),
    CONSTRAINT "PK_eaf8539347d4d617753f51cd9aa" PRIMARY KEY ("assignment_id", "student_id")
  );
  CREATE INDEX "assignment_extensions_student" ON "assignment_extensions" ("student_id");
  ALTER TABLE "transactional_mails" ADD "review_id" uuid;
  CREATE UNIQUE INDEX "transactional_mails_review" ON "transactional_mails" ("review_id");
  ALTER TABLE "assignments" ADD CONSTRAINT "FK_95112ae591b98b43dab0df90974" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignments" ADD CONSTRAINT "FK_c0fda9de424e0e719787f6b5764" FOREIGN KEY ("lesson_id") REFERENCES "lessons"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_submissions" ADD CONSTRAINT "FK_7402b5d4dd51f7eb7aa4150dc16" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_submissions" ADD CONSTRAINT "FK_0c62b946a9e40285ac33fe970bb" FOREIGN KEY ("assignment_id") REFERENCES "assignments"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_submissions" ADD CONSTRAINT "FK_45b95e9a93646e79972f824a93f" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_attempts" ADD CONSTRAINT "FK_be4a2468ad6b511f2cefb7bb792" FOREIGN KEY ("submission_id") REFERENCES "assignment_submissions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_reviews" ADD CONSTRAINT "FK_e5783fae02f9628067093d078b3" FOREIGN KEY ("attempt_id") REFERENCES "assignment_attempts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_reviews" ADD CONSTRAINT "FK_a7124e5d02836418631efb0b2e1" FOREIGN KEY ("reviewer_id") REFERENCES "administrators"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_9bb81cdd653ca3c20d36485b9f5" FOREIGN KEY ("review_id") REFERENCES "assignment_reviews"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ALTER TABLE "assignment_attempt_files" ADD CONSTRAINT "FK_3405a0a2294037b5059da17a605" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_attempt_files" ADD CONSTRAINT "FK_0a3bce188c655747de70a141a06" FOREIGN KEY ("attempt_id") REFERENCES "assignment_attempts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_extensions" ADD CONSTRAINT "FK_bb915886214c6ee4f8e40c91ab4" FOREIGN KEY ("assignment_id") REFERENCES "assignments"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "assignment_extensions" ADD CONSTRAINT "FK_a54679995ff1fcb2ffc9465a9ef" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ${tallies}
`;

const down = `
  DROP INDEX "transactional_mails_review";
  ALTER TABLE "transactional_mails" DROP COLUMN "review_id";
  DROP TABLE "assignment_extensions";
  DROP TABLE "assignment_attempt_files";
  DROP TABLE "assignment_reviews";
  DROP TABLE "assignment_attempts";
  DROP TABLE "assignment_submissions";
  DROP TABLE "assignments";
  DROP FUNCTION "assignment_submissions_retallied";
  DROP FUNCTION "assignment_submissions_tallied";
  DELETE FROM "media" WHERE purpose = 'assignment';
  ${purposes(`purpose = 'agent_image'`)}
  DELETE FROM "list_tally_changes" WHERE list LIKE 'submissions%';
  DELETE FROM "list_tallies" WHERE list LIKE 'submissions%';
  ${lists(listsBefore)}
`;

export class Assignments1795378414000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
