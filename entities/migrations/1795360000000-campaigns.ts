/** Campaigns, the mails to their recipients, who writes them, and who is not written to. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;

/** As the tallies of the other lists (ADR 11). Open mails are counted together: claims change their status all the time. */
const tallies = `
  CREATE FUNCTION "mails_list"(status text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT 'mails_' || CASE WHEN status IN ('pending', 'sending') THEN 'open' ELSE status END $$;
  CREATE FUNCTION "mails_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, mails_list(status), campaign_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "mails_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    VALUES (OLD.club_id, mails_list(OLD.status), OLD.campaign_id, false, -1), (NEW.club_id, mails_list(NEW.status), NEW.campaign_id, false, 1);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "mails_tallied_in" AFTER INSERT ON "mails"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "mails_tallied"();
  CREATE TRIGGER "mails_tallied_out" AFTER DELETE ON "mails"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "mails_tallied"();
  CREATE TRIGGER "mails_retallied" AFTER UPDATE OF status ON "mails" FOR EACH ROW
    WHEN (NEW.campaign_id IS NOT NULL AND mails_list(OLD.status) <> mails_list(NEW.status))
    EXECUTE FUNCTION "mails_retallied"();
`;

const up = `
  ${lists("'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed'")}
  CREATE TABLE "campaigns" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "name" text NOT NULL,
    "status" text NOT NULL DEFAULT 'draft',
    "content" jsonb NOT NULL,
    "audience" jsonb NOT NULL,
    "window_from" smallint,
    "window_to" smallint,
    "pause_reason" text,
    "scheduled_at" TIMESTAMP WITH TIME ZONE,
    "compiled" jsonb,
    "frozen_at" TIMESTAMP WITH TIME ZONE,
    "recipients" integer NOT NULL DEFAULT '0',
    "ended_at" TIMESTAMP WITH TIME ZONE,
    "refusals" integer NOT NULL DEFAULT '0',
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "campaigns_minutes" CHECK (window_from BETWEEN 0 AND 1439 AND window_to BETWEEN 0 AND 1439),
    CONSTRAINT "campaigns_window" CHECK ((window_from IS NULL) = (window_to IS NULL)),
    CONSTRAINT "campaigns_pause_reason" CHECK (pause_reason in ('by_hand', 'provider', 'bounces', 'complaints', 'plan', 'problems', 'missed_start')),
    CONSTRAINT "campaigns_paused" CHECK ((status = 'paused') = (pause_reason IS NOT NULL)),
    CONSTRAINT "campaigns_status" CHECK (status in ('draft', 'scheduled', 'sending', 'paused', 'sent', 'canceled')),
    CONSTRAINT "PK_831e3fcd4fc45b4e4c3f57a9ee4" PRIMARY KEY ("id")
  );
  CREATE INDEX "campaigns_due" ON "campaigns" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "campaigns_club_status" ON "campaigns" ("club_id", "status", "created_at", "id");
  CREATE INDEX "campaigns_club" ON "campaigns" ("club_id", "created_at", "id");
  CREATE TABLE "mails" (
    "id" uuid NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "club_id" uuid NOT NULL,
    "campaign_id" uuid,
    "run_id" uuid,
    "step_id" text,
    "student_id" uuid NOT NULL,
    "student_name" text NOT NULL,
    "student_email" text NOT NULL,
    "address_key" bytea,
    "status" text NOT NULL DEFAULT 'pending',
    "skip_reason" text,
    "last_error" text,
    "attempt_count" smallint NOT NULL DEFAULT '0',
    "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "sent_at" TIMESTAMP WITH TIME ZONE,
    "delivered_at" TIMESTAMP WITH TIME ZONE,
    "bounced_at" TIMESTAMP WITH TIME ZONE,
    "complained_at" TIMESTAMP WITH TIME ZONE,
    "opened_at" TIMESTAMP WITH TIME ZONE,
    "clicked_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mails_cause" CHECK (num_nonnulls(campaign_id, run_id) = 1 AND (run_id IS NULL) = (step_id IS NULL)),
    CONSTRAINT "mails_skipped" CHECK ((status = 'skipped') = (skip_reason IS NOT NULL)),
    CONSTRAINT "mails_skip_reason" CHECK (skip_reason in ('suppressed', 'unsubscribed', 'bounced', 'complained', 'invalid_email', 'no_longer_eligible', 'student_removed', 'canceled')),
    CONSTRAINT "mails_status" CHECK (status in ('pending', 'sending', 'sent', 'skipped', 'failed')),
    CONSTRAINT "PK_218248d7dfe1b739f06e2309349" PRIMARY KEY ("id")
  );
  CREATE INDEX "mails_student" ON "mails" ("student_id");
  CREATE INDEX "mails_campaign_open" ON "mails" ("campaign_id", "lease_until") WHERE campaign_id IS NOT NULL AND status = 'sending';
  CREATE INDEX "mails_campaign_due" ON "mails" ("campaign_id", "next_attempt_at", "seq") WHERE campaign_id IS NOT NULL AND status = 'pending';
  CREATE INDEX "mails_campaign_status" ON "mails" ("campaign_id", "status", "seq") WHERE campaign_id IS NOT NULL;
  CREATE INDEX "mails_campaign" ON "mails" ("campaign_id", "seq") WHERE campaign_id IS NOT NULL;
  CREATE UNIQUE INDEX "mails_run_step" ON "mails" ("run_id", "step_id") WHERE run_id IS NOT NULL;
  CREATE UNIQUE INDEX "mails_campaign_address" ON "mails" ("campaign_id", "address_key") WHERE campaign_id IS NOT NULL AND address_key IS NOT NULL;
  CREATE UNIQUE INDEX "mails_campaign_student" ON "mails" ("campaign_id", "student_id") WHERE campaign_id IS NOT NULL;
  CREATE TABLE "mail_senders" (
    "club_id" uuid NOT NULL,
    "from_name" text NOT NULL,
    "reply_to" text,
    "postal_address" text NOT NULL,
    "tracking" text NOT NULL DEFAULT 'all',
    "mails_per_minute" integer NOT NULL DEFAULT '600',
    "allowance" double precision NOT NULL DEFAULT '0',
    "allowance_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mail_senders_rate" CHECK (mails_per_minute > 0),
    CONSTRAINT "mail_senders_tracking" CHECK (tracking in ('all', 'clicks', 'none')),
    CONSTRAINT "PK_b8a4df588ff84a19ec782f0d5ad" PRIMARY KEY ("club_id")
  );
  CREATE TABLE "mail_suppressions" (
    "club_id" uuid NOT NULL,
    "address_key" bytea NOT NULL,
    "reason" text,
    "left_campaigns_at" TIMESTAMP WITH TIME ZONE,
    "left_automations_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "mail_suppressions_says_something" CHECK (num_nonnulls(reason, left_campaigns_at, left_automations_at) > 0),
    CONSTRAINT "mail_suppressions_reason" CHECK (reason in ('bounce', 'complaint', 'manual')),
    CONSTRAINT "PK_9e29c357a6b9c8edf17255b376d" PRIMARY KEY ("club_id", "address_key")
  );
  CREATE INDEX "mail_suppressions_club" ON "mail_suppressions" ("club_id", "created_at", "address_key");
  ALTER TABLE "campaigns" ADD CONSTRAINT "FK_42b99c681f195f6d2950d0c52e3" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mails" ADD CONSTRAINT "FK_f1ef354404da1599945d24976c2" FOREIGN KEY ("campaign_id") REFERENCES "campaigns"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mails" ADD CONSTRAINT "FK_c5548d5f2bfc2ba11e35715993d" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mail_senders" ADD CONSTRAINT "FK_b8a4df588ff84a19ec782f0d5ad" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mail_suppressions" ADD CONSTRAINT "FK_09b45b075e5b36170a5eaca0bb8" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ${tallies}
`;

const down = `
  DROP TABLE "mail_suppressions";
  DROP TABLE "mail_senders";
  DROP TABLE "mails";
  DROP TABLE "campaigns";
  DROP FUNCTION "mails_retallied";
  DROP FUNCTION "mails_tallied";
  DROP FUNCTION "mails_list";
  DELETE FROM "list_tally_changes" WHERE list LIKE 'mails%';
  DELETE FROM "list_tallies" WHERE list LIKE 'mails%';
  ${lists("'students', 'enrollments', 'certificates'")}
`;

export class Campaigns1795360000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
