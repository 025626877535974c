/**
 * The daily mail of spaces: one row for each club and date, and the mails of it (COMM-17). Its runs are named by club and date, so a
 * wake names what it is about by a text. Relays from before fail to read wakes until they are replaced, because their statement knows
 * another type. What runs of `space-fill` wait for is noted otherwise than before (ADR 31).
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "space_digests" (
    "id" text NOT NULL,
    "club_id" uuid NOT NULL,
    "date" date NOT NULL,
    "takes_until" TIMESTAMP WITH TIME ZONE NOT NULL,
    "ends_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "members" integer NOT NULL,
    "pages" integer NOT NULL DEFAULT 0,
    "paged_to" uuid,
    "all_paged" boolean NOT NULL DEFAULT false,
    "recipients" integer NOT NULL DEFAULT 0,
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "ended_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "space_digests_id" CHECK (id = club_id::text || '/' || to_char(date, 'YYYY-MM-DD')),
    CONSTRAINT "space_digests_ended" CHECK ((ended_at IS NULL) = (looks_at IS NOT NULL)),
    CONSTRAINT "PK_7dd7ce0b69005a92e4682b73f48" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "space_digests_club" ON "space_digests" ("club_id", "date");
  CREATE INDEX "space_digests_due" ON "space_digests" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "space_digests_over" ON "space_digests" ("ended_at") WHERE ended_at IS NOT NULL;
  ALTER TABLE "space_digests" ADD CONSTRAINT "FK_2dda33cd10158f3addfa6c9fbe7" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mails" ADD "digest_id" text;
  ALTER TABLE "mails" DROP CONSTRAINT "mails_cause";
  ALTER TABLE "mails" ADD CONSTRAINT "mails_cause" CHECK (num_nonnulls(campaign_id, run_id, digest_id) = 1 AND (run_id IS NULL) = (step_id IS NULL));
  CREATE UNIQUE INDEX "mails_digest_student" ON "mails" ("digest_id", "student_id") WHERE digest_id IS NOT NULL;
  CREATE INDEX "mails_digest_due" ON "mails" ("digest_id", "next_attempt_at", "seq") WHERE digest_id IS NOT NULL AND status = 'pending';
  CREATE INDEX "mails_digest_open" ON "mails" ("digest_id", "lease_until") WHERE digest_id IS NOT NULL AND status = 'sending';
  ALTER TABLE "mails" ADD CONSTRAINT "FK_eca0184f05302122265bb7e180d" FOREIGN KEY ("digest_id") REFERENCES "space_digests"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "mail_suppressions" ADD "left_digests_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "mail_suppressions" DROP CONSTRAINT "mail_suppressions_says_something";
  ALTER TABLE "mail_suppressions" ADD CONSTRAINT "mail_suppressions_says_something" CHECK (num_nonnulls(reason, left_campaigns_at, left_automations_at, left_digests_at) > 0);
  ALTER TABLE "community_memberships" ADD "digest_left" boolean NOT NULL DEFAULT false;
  ALTER TABLE "community_memberships" ADD CONSTRAINT "community_memberships_digest_left" CHECK (NOT (digest AND digest_left));
  CREATE INDEX "community_memberships_digest" ON "community_memberships" ("club_id", "student_id") WHERE digest;
  ALTER TABLE "wakes" ALTER COLUMN "subject_id" TYPE text;
  UPDATE "community_spaces" SET fill_barrier = NULL WHERE fill_barrier IS NOT NULL;
`;

const down = `
  UPDATE "community_spaces" SET fill_barrier = NULL WHERE fill_barrier IS NOT NULL;
  DELETE FROM "wakes" WHERE workflow_type = 'spaceDigest';
  ALTER TABLE "wakes" ALTER COLUMN "subject_id" TYPE uuid USING subject_id::uuid;
  DROP INDEX "community_memberships_digest";
  ALTER TABLE "community_memberships" DROP COLUMN "digest_left";
  ALTER TABLE "mail_suppressions" DROP CONSTRAINT "mail_suppressions_says_something";
  DELETE FROM "mail_suppressions" WHERE num_nonnulls(reason, left_campaigns_at, left_automations_at) = 0;
  ALTER TABLE "mail_suppressions" DROP COLUMN "left_digests_at";
  ALTER TABLE "mail_suppressions" ADD CONSTRAINT "mail_suppressions_says_something" CHECK (num_nonnulls(reason, left_campaigns_at, left_automations_at) > 0);
  DELETE FROM "mails" WHERE digest_id IS NOT NULL;
  ALTER TABLE "mails" DROP CONSTRAINT "mails_cause";
  ALTER TABLE "mails" DROP COLUMN "digest_id";
  ALTER TABLE "mails" ADD CONSTRAINT "mails_cause" CHECK (num_nonnulls(campaign_id, run_id) = 1 AND (run_id IS NULL) = (step_id IS NULL));
  DROP TABLE "space_digests";
`;

export class SpaceDigests1795409600000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
