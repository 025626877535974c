/** Mentorships: hours that members offer, the sessions that students book in them, and the mails about these. */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { requireExtension } from '../extensions.ts';

export class Mentorships1795402100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await requireExtension(queryRunner, 'btree_gist');
    await queryRunner.query(`
      CREATE TABLE "mentorships" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "public_id" text NOT NULL,
        "title" text NOT NULL,
        "description" text NOT NULL DEFAULT '',
        "status" text NOT NULL DEFAULT 'draft',
        "mentor_id" uuid NOT NULL,
        "duration_minutes" smallint NOT NULL,
        "buffer_minutes" smallint NOT NULL DEFAULT 0,
        "time_zone" text NOT NULL,
        "weekly_hours" jsonb NOT NULL,
        "exceptions" jsonb NOT NULL,
        "notice_minutes" integer NOT NULL DEFAULT 0,
        "horizon_days" smallint NOT NULL,
        "max_upcoming" smallint NOT NULL,
        "cancel_deadline_minutes" integer NOT NULL DEFAULT 0,
        "meeting_url" text,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "published_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "mentorships_status" CHECK (status in ('draft', 'published', 'archived')),
        CONSTRAINT "mentorships_duration" CHECK (duration_minutes BETWEEN 15 AND 240),
        CONSTRAINT "mentorships_buffer" CHECK (buffer_minutes BETWEEN 0 AND 240),
        CONSTRAINT "mentorships_horizon" CHECK (horizon_days BETWEEN 1 AND 180),
        CONSTRAINT "PK_57c594aeb4b0aed94a827f82c48" PRIMARY KEY ("id"),
        CONSTRAINT "FK_ea0074bf29f8d7de827058599fd" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_54ff14b29432a4b4a78df075b90" FOREIGN KEY ("mentor_id") REFERENCES "administrators"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "mentorships_club_public_id" ON "mentorships" ("club_id", "public_id");
      CREATE INDEX "mentorships_club_created" ON "mentorships" ("club_id", "created_at", "id");
      CREATE TABLE "mentorship_deliveries" (
        "mentorship_id" uuid NOT NULL,
        "delivery_id" uuid NOT NULL,
        CONSTRAINT "PK_7eae4a3a5d1f1567891339fea81" PRIMARY KEY ("mentorship_id", "delivery_id"),
        CONSTRAINT "FK_92a20c2df444e5866254896a50e" FOREIGN KEY ("mentorship_id") REFERENCES "mentorships"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_737b0d51853eafcf675d9d13bb9" FOREIGN KEY ("delivery_id") REFERENCES "access_deliveries"("id")
      );
      CREATE INDEX "mentorship_deliveries_delivery" ON "mentorship_deliveries" ("delivery_id");
      CREATE TABLE "mentorship_sessions" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "mentorship_id" uuid NOT NULL,
        "mentor_id" uuid NOT NULL,
        "student_id" uuid NOT NULL,
        "status" text NOT NULL DEFAULT 'booked',
        "starts_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "ends_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "busy_until" TIMESTAMP WITH TIME ZONE NOT NULL,
        "sequence" integer NOT NULL DEFAULT 0,
        "agenda" text NOT NULL DEFAULT '',
        "booked_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "canceled_at" TIMESTAMP WITH TIME ZONE,
        "canceled_by" text,
        "cancel_reason" text NOT NULL DEFAULT '',
        "rating" smallint,
        "rating_comment" text NOT NULL DEFAULT '',
        "rated_at" TIMESTAMP WITH TIME ZONE,
        "looks_at" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "mentorship_sessions_status" CHECK (status in ('booked', 'canceled', 'no_show')),
        CONSTRAINT "mentorship_sessions_times" CHECK (starts_at < ends_at AND ends_at <= busy_until),
        CONSTRAINT "mentorship_sessions_canceled" CHECK ((status = 'canceled') = (canceled_at IS NOT NULL)),
        CONSTRAINT "mentorship_sessions_canceler" CHECK (canceled_by in ('student', 'club')),
        CONSTRAINT "mentorship_sessions_rating" CHECK (rating BETWEEN 1 AND 5),
        CONSTRAINT "mentorship_sessions_mentor" EXCLUDE USING gist (mentor_id WITH =, tstzrange(starts_at, busy_until) WITH &&) WHERE (status <> 'canceled'),
        CONSTRAINT "mentorship_sessions_student" EXCLUDE USING gist (student_id WITH =, tstzrange(starts_at, ends_at) WITH &&) WHERE (status <> 'canceled'),
        CONSTRAINT "PK_73d52f1505acf4ef387eaa5adb5" PRIMARY KEY ("id"),
        CONSTRAINT "FK_87ec14678aa3c1bb9c4f6ad46bd" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_aad809cc53cbf6297f6b174cc71" FOREIGN KEY ("mentorship_id") REFERENCES "mentorships"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_15541eb6eebb71a7d0ae196ba76" FOREIGN KEY ("mentor_id") REFERENCES "administrators"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_4fd75c86d4a46ca77a618f7073a" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE
      );
      CREATE INDEX "mentorship_sessions_club" ON "mentorship_sessions" ("club_id", "starts_at", "id");
      CREATE INDEX "mentorship_sessions_mentorship" ON "mentorship_sessions" ("mentorship_id", "starts_at", "id");
      CREATE INDEX "mentorship_sessions_of_student" ON "mentorship_sessions" ("student_id", "starts_at", "id");
      CREATE INDEX "mentorship_sessions_due" ON "mentorship_sessions" ("looks_at") WHERE looks_at IS NOT NULL;
      ALTER TABLE "transactional_mails"
        ADD "session_id" uuid,
        ADD "session_sequence" integer,
        ADD CONSTRAINT "FK_9c57170987dbdd190aa0ccad74f" FOREIGN KEY ("session_id") REFERENCES "mentorship_sessions"("id") ON DELETE SET NULL;
      CREATE UNIQUE INDEX "transactional_mails_session" ON "transactional_mails" ("session_id", "template", "session_sequence")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE "transactional_mails" DROP COLUMN "session_sequence", DROP COLUMN "session_id"`,
    );
    await queryRunner.query(`DROP TABLE "mentorship_sessions"`);
    await queryRunner.query(`DROP TABLE "mentorship_deliveries"`);
    await queryRunner.query(`DROP TABLE "mentorships"`);
  }
}
