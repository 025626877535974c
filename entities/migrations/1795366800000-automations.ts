/** Automations: definitions and their versions, runs with their paths, and the counts of both. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked'`;

const awards = (kinds: string) => `
  ALTER TABLE "point_awards" DROP CONSTRAINT "point_awards_kind";
  ALTER TABLE "point_awards" ADD CONSTRAINT "point_awards_kind" CHECK (cause_kind in (${kinds}));
`;

/** As the tallies of other lists (ADR 11): of each automation, and of each of its versions. */
const runTallies = `
  CREATE FUNCTION "automation_runs_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'automation_runs_' || status, subject_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed CROSS JOIN LATERAL (VALUES (automation_id), (version_id)) AS subject (subject_id) GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "automation_runs_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT NEW.club_id, 'automation_runs_' || change.status, change.subject_id, false, change.records
      FROM (VALUES (OLD.status, OLD.automation_id, -1), (NEW.status, NEW.automation_id, 1),
                   (OLD.status, OLD.version_id, -1), (NEW.status, NEW.version_id, 1)) AS change (status, subject_id, records);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "automation_runs_tallied_in" AFTER INSERT ON "automation_runs"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "automation_runs_tallied"();
  CREATE TRIGGER "automation_runs_tallied_out" AFTER DELETE ON "automation_runs"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "automation_runs_tallied"();
  CREATE TRIGGER "automation_runs_retallied" AFTER UPDATE OF status ON "automation_runs" FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION "automation_runs_retallied"();
`;

/** How many came to a step and left it, for good: rows of paths go after a year and with removed students, the counts do not. */
const stepTallies = `
  CREATE FUNCTION "automation_run_steps_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, entered, departed)
    SELECT version_id, step_id, count(*), count(left_at) FROM changed GROUP BY 1, 2;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "automation_run_steps_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, departed)
    VALUES (NEW.version_id, NEW.step_id, CASE WHEN NEW.left_at IS NULL THEN -1 ELSE 1 END);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "automation_run_steps_tallied" AFTER INSERT ON "automation_run_steps"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "automation_run_steps_tallied"();
  CREATE TRIGGER "automation_run_steps_retallied" AFTER UPDATE OF left_at ON "automation_run_steps" FOR EACH ROW
    WHEN ((OLD.left_at IS NULL) <> (NEW.left_at IS NULL)) EXECUTE FUNCTION "automation_run_steps_retallied"();
  CREATE FUNCTION "automation_mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, sent, opened, clicked)
    SELECT run.version_id, NEW.step_id, (NEW.status = 'sent')::int - (OLD.status = 'sent')::int,
           num_nonnulls(NEW.opened_at) - num_nonnulls(OLD.opened_at), num_nonnulls(NEW.clicked_at) - num_nonnulls(OLD.clicked_at)
      FROM automation_runs run WHERE run.id = NEW.run_id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "automation_mails_retallied" AFTER UPDATE OF status, opened_at, clicked_at ON "mails" FOR EACH ROW
    WHEN (NEW.run_id IS NOT NULL AND ((OLD.status = 'sent') <> (NEW.status = 'sent')
      OR num_nonnulls(OLD.opened_at, OLD.clicked_at) <> num_nonnulls(NEW.opened_at, NEW.clicked_at)))
    EXECUTE FUNCTION "automation_mails_retallied"();
`;

const up = `
  ${lists(`${listsBefore}, 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed'`)}
  ${awards(`'lesson', 'manual', 'automation'`)}
  CREATE TABLE "automations" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "name" text NOT NULL,
    "status" text NOT NULL DEFAULT 'draft',
    "draft" jsonb NOT NULL,
    "revision" integer NOT NULL DEFAULT '1',
    "published_id" uuid,
    "version_count" integer NOT NULL DEFAULT '0',
    "trigger_kind" text,
    "gate_looks_at" TIMESTAMP WITH TIME ZONE,
    "gate_page" smallint NOT NULL DEFAULT '1',
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "automations_running" CHECK (status NOT IN ('active', 'paused') OR published_id IS NOT NULL),
    CONSTRAINT "automations_published" CHECK ((published_id IS NULL) = (trigger_kind IS NULL)),
    CONSTRAINT "automations_trigger_kind" CHECK (trigger_kind in ('student_created', 'access_granted', 'access_revoked', 'purchase_paid', 'purchase_refunded', 'subscription_past_due', 'subscription_canceled', 'lesson_completed', 'course_completed', 'certificate_issued', 'student_tagged', 'student_untagged', 'student_level_reached', 'manual')),
    CONSTRAINT "automations_status" CHECK (status in ('draft', 'active', 'paused', 'archived')),
    CONSTRAINT "PK_34c2cc382fc780ea36f7c478192" PRIMARY KEY ("id")
  );
  CREATE INDEX "automations_gate" ON "automations" ("gate_looks_at") WHERE gate_looks_at IS NOT NULL;
  CREATE INDEX "automations_trigger" ON "automations" ("club_id", "trigger_kind") WHERE status = 'active';
  CREATE INDEX "automations_club_status" ON "automations" ("club_id", "status", "created_at", "id");
  CREATE INDEX "automations_club" ON "automations" ("club_id", "created_at", "id");
  CREATE TABLE "automation_course_looks" (
    "course_id" uuid NOT NULL,
    "after_id" uuid NOT NULL,
    "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_e958d20fb3970044c75de4c3769" PRIMARY KEY ("course_id")
  );
  CREATE INDEX "automation_course_looks_changed" ON "automation_course_looks" ("changed_at");
  CREATE TABLE "automation_versions" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "automation_id" uuid NOT NULL,
    "number" integer NOT NULL,
    "language" smallint NOT NULL DEFAULT '1',
    "trigger_kind" text NOT NULL,
    "definition" jsonb NOT NULL,
    "compiled" jsonb NOT NULL,
    "published_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "automation_versions_number" CHECK (number > 0),
    CONSTRAINT "automation_versions_trigger_kind" CHECK (trigger_kind in ('student_created', 'access_granted', 'access_revoked', 'purchase_paid', 'purchase_refunded', 'subscription_past_due', 'subscription_canceled', 'lesson_completed', 'course_completed', 'certificate_issued', 'student_tagged', 'student_untagged', 'student_level_reached', 'manual')),
    CONSTRAINT "PK_fa1aa22126ed3f167f655bc8e81" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "automation_versions_of" ON "automation_versions" ("automation_id", "number");
  CREATE TABLE "automation_runs" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "automation_id" uuid NOT NULL,
    "version_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "status" text NOT NULL DEFAULT 'active',
    "exit_reason" text,
    "error_code" text,
    "cause_id" uuid NOT NULL,
    "reentry" text NOT NULL,
    "priority" smallint NOT NULL DEFAULT '1',
    "access_kind" text,
    "access_id" uuid,
    "was_open" boolean NOT NULL DEFAULT false,
    "links" jsonb NOT NULL DEFAULT '[]',
    "cursor" text,
    "deadline" TIMESTAMP WITH TIME ZONE,
    "waiting" boolean NOT NULL DEFAULT false,
    "watches" text array NOT NULL DEFAULT '{}',
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "parked_at" TIMESTAMP WITH TIME ZONE,
    "path_kept" boolean NOT NULL DEFAULT true,
    "entered_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "ended_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "automation_runs_access" CHECK (access_kind in ('delivery', 'course', 'product')),
    CONSTRAINT "automation_runs_reentry" CHECK (reentry in ('once', 'after_exit', 'always')),
    CONSTRAINT "automation_runs_cursor" CHECK (status <> 'active' OR cursor IS NOT NULL),
    CONSTRAINT "automation_runs_lives" CHECK (status <> 'active' OR (looks_at IS NULL) = (parked_at IS NOT NULL)),
    CONSTRAINT "automation_runs_looks" CHECK (status = 'active' OR (looks_at IS NULL AND parked_at IS NULL)),
    CONSTRAINT "automation_runs_ended" CHECK ((status = 'active') = (ended_at IS NULL)),
    CONSTRAINT "automation_runs_failed" CHECK ((status = 'failed') = (error_code IS NOT NULL)),
    CONSTRAINT "automation_runs_exited" CHECK ((status = 'exited') = (exit_reason IS NOT NULL)),
    CONSTRAINT "automation_runs_exit_reason" CHECK (exit_reason in ('exit_step', 'exit_when', 'access_lost', 'archived', 'by_hand', 'student_removed')),
    CONSTRAINT "automation_runs_status" CHECK (status in ('active', 'completed', 'exited', 'failed')),
    CONSTRAINT "PK_273137fa78ff9340128ab98445f" PRIMARY KEY ("id")
  );
  CREATE INDEX "automation_runs_ended_at" ON "automation_runs" ("ended_at") WHERE path_kept AND ended_at IS NOT NULL;
  CREATE INDEX "automation_runs_held" ON "automation_runs" ("automation_id", "looks_at") WHERE status = 'active';
  CREATE INDEX "automation_runs_due" ON "automation_runs" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "automation_runs_version_active" ON "automation_runs" ("version_id") WHERE status = 'active';
  CREATE INDEX "automation_runs_student_active" ON "automation_runs" ("student_id") WHERE status = 'active';
  CREATE INDEX "automation_runs_student" ON "automation_runs" ("student_id");
  CREATE INDEX "automation_runs_step_list" ON "automation_runs" ("automation_id", "cursor", "entered_at", "id") WHERE status = 'active';
  CREATE INDEX "automation_runs_student_list" ON "automation_runs" ("automation_id", "student_id", "entered_at", "id");
  CREATE INDEX "automation_runs_version_list" ON "automation_runs" ("version_id", "entered_at", "id");
  CREATE INDEX "automation_runs_status_list" ON "automation_runs" ("automation_id", "status", "entered_at", "id");
  CREATE INDEX "automation_runs_list" ON "automation_runs" ("automation_id", "entered_at", "id");
  CREATE UNIQUE INDEX "automation_runs_after_exit" ON "automation_runs" ("automation_id", "student_id") WHERE reentry = 'after_exit' AND status = 'active';
  CREATE UNIQUE INDEX "automation_runs_once" ON "automation_runs" ("automation_id", "student_id") WHERE reentry = 'once';
  CREATE UNIQUE INDEX "automation_runs_cause" ON "automation_runs" ("automation_id", "cause_id", "student_id");
  CREATE TABLE "automation_course_watches" (
    "course_id" uuid NOT NULL,
    "run_id" uuid NOT NULL,
    CONSTRAINT "PK_13fbc6faf226b2e7e851f233ae3" PRIMARY KEY ("course_id", "run_id")
  );
  CREATE INDEX "automation_course_watches_run" ON "automation_course_watches" ("run_id");
  CREATE TABLE "automation_references" (
    "version_id" uuid NOT NULL,
    "referred_id" uuid NOT NULL,
    "kind" text NOT NULL,
    CONSTRAINT "automation_references_kind" CHECK (kind in ('delivery', 'cohort', 'product', 'tag', 'lesson', 'course', 'level')),
    CONSTRAINT "PK_9c6058c6b499f0ed02809a23143" PRIMARY KEY ("version_id", "referred_id")
  );
  CREATE INDEX "automation_references_referred" ON "automation_references" ("referred_id");
  CREATE TABLE "automation_run_steps" (
    "id" uuid NOT NULL,
    "run_id" uuid NOT NULL,
    "version_id" uuid NOT NULL,
    "step_id" text NOT NULL,
    "entered_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "deadline" TIMESTAMP WITH TIME ZONE,
    "left_at" TIMESTAMP WITH TIME ZONE,
    "outcome" text,
    "answers" boolean array,
    CONSTRAINT "PK_ef2bf6baebc27a48edb57439dc3" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "automation_run_steps_run" ON "automation_run_steps" ("run_id", "step_id");
  CREATE TABLE "automation_step_changes" (
    "version_id" uuid NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "step_id" text NOT NULL,
    "entered" integer NOT NULL DEFAULT '0',
    "departed" integer NOT NULL DEFAULT '0',
    "sent" integer NOT NULL DEFAULT '0',
    "opened" integer NOT NULL DEFAULT '0',
    "clicked" integer NOT NULL DEFAULT '0',
    CONSTRAINT "PK_dce961d7adb87ba0dca5e0d7984" PRIMARY KEY ("version_id", "seq")
  );
  CREATE TABLE "automation_step_tallies" (
    "version_id" uuid NOT NULL,
    "step_id" text NOT NULL,
    "entered" integer NOT NULL,
    "departed" integer NOT NULL,
    "sent" integer NOT NULL,
    "opened" integer NOT NULL,
    "clicked" integer NOT NULL,
    CONSTRAINT "PK_cb832848461a19399360c7f59df" PRIMARY KEY ("version_id", "step_id")
  );
  ALTER TABLE "automations" ADD CONSTRAINT "FK_89ec91512efb429f4af57c5df08" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_versions" ADD CONSTRAINT "FK_99db1615326fbcbddd3359a45e2" FOREIGN KEY ("automation_id") REFERENCES "automations"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_runs" ADD CONSTRAINT "FK_a61ba11dea20d2eb0166b97e5a8" FOREIGN KEY ("automation_id") REFERENCES "automations"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_runs" ADD CONSTRAINT "FK_e253781f1d3b6baef91ff84fde3" FOREIGN KEY ("version_id") REFERENCES "automation_versions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_runs" ADD CONSTRAINT "FK_ea3f346b61d75e62242f89ebb24" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_course_watches" ADD CONSTRAINT "FK_8cc34934dd7454da36a7e4ca74d" FOREIGN KEY ("run_id") REFERENCES "automation_runs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_references" ADD CONSTRAINT "FK_ee1974037347e96e8931a7b7701" FOREIGN KEY ("version_id") REFERENCES "automation_versions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "automation_run_steps" ADD CONSTRAINT "FK_6cc6a4ff7bb9f5488f9f2948ef2" FOREIGN KEY ("run_id") REFERENCES "automation_runs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ${runTallies}
  ${stepTallies}
`;

const down = `
  DROP TRIGGER "automation_mails_retallied" ON "mails";
  DROP FUNCTION "automation_mails_retallied";
  DROP TABLE "automation_step_tallies";
  DROP TABLE "automation_step_changes";
  DROP TABLE "automation_run_steps";
  DROP TABLE "automation_references";
  DROP TABLE "automation_course_watches";
  DROP TABLE "automation_runs";
  DROP TABLE "automation_versions";
  DROP TABLE "automation_course_looks";
  DROP TABLE "automations";
  DROP FUNCTION "automation_run_steps_retallied";
  DROP FUNCTION "automation_run_steps_tallied";
  DROP FUNCTION "automation_runs_retallied";
  DROP FUNCTION "automation_runs_tallied";
  DELETE FROM "list_tally_changes" WHERE list LIKE 'automation%';
  DELETE FROM "list_tallies" WHERE list LIKE 'automation%';
  DELETE FROM "point_awards" WHERE cause_kind = 'automation';
  ${awards(`'lesson', 'manual'`)}
  ${lists(listsBefore)}
`;

export class Automations1795366800000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
