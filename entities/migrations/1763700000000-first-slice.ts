/** The first schema: clubs and who acts in them, facts and wakes, webhooks, transactional mail, rate-limit counters. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class FirstSlice1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(schema);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE ${tables.join(', ')} CASCADE`);
  }
}

const tables = [
  'clubs',
  'invitations',
  'administrators',
  'memberships',
  'facts',
  'wakes',
  'administrator_sessions',
  'students',
  'one_time_tokens',
  'student_sessions',
  'rate_limit_counters',
  'transactional_mails',
  'webhook_endpoints',
  'webhook_events',
  'webhook_deliveries',
  'webhook_attempts',
];

/** As TypeORM derives it from the entities; a test compares the two. */
const schema = `
    CREATE TABLE "clubs" (
      "id" uuid NOT NULL,
      "name" text NOT NULL,
      "slug" text NOT NULL,
      "time_zone" text NOT NULL DEFAULT 'UTC',
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "UQ_11a81774605896dbb29c9e53605" UNIQUE ("slug"),
      CONSTRAINT "PK_bb09bd0c8d5238aeaa8f86ee0d4" PRIMARY KEY ("id")
    );
    CREATE TABLE "invitations" (
      "id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "email" text NOT NULL,
      "role" text NOT NULL,
      "invited_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "invitations_role" CHECK (role in ('owner', 'admin', 'editor', 'support')),
      CONSTRAINT "PK_5dec98cfdfd562e4ad3648bbb07" PRIMARY KEY ("id")
    );
    CREATE UNIQUE INDEX "invitations_club_email" ON "invitations" ("club_id", "email");
    CREATE TABLE "administrators" (
      "id" uuid NOT NULL,
      "name" text NOT NULL,
      "email" text NOT NULL,
      "password_hash" text,
      "verified_at" TIMESTAMP WITH TIME ZONE,
      "phone" text,
      "phone_verified_at" TIMESTAMP WITH TIME ZONE,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "UQ_4ee5216a00cb99b2dede98509c1" UNIQUE ("email"),
      CONSTRAINT "PK_aaa48522d99c3b6b33fdea7dc2f" PRIMARY KEY ("id")
    );
    CREATE TABLE "memberships" (
      "club_id" uuid NOT NULL,
      "administrator_id" uuid NOT NULL,
      "role" text NOT NULL,
      "joined_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "memberships_role" CHECK (role in ('owner', 'admin', 'editor', 'support')),
      CONSTRAINT "PK_8accdedc23520c21bbfb75633f0" PRIMARY KEY ("club_id", "administrator_id")
    );
    CREATE INDEX "memberships_administrator" ON "memberships" ("administrator_id");
    CREATE TABLE "facts" (
      "id" uuid NOT NULL,
      "seq" BIGSERIAL NOT NULL,
      "club_id" uuid NOT NULL,
      "type" text NOT NULL,
      "student_id" uuid NOT NULL,
      "occurred_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "lease_until" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_b35218a44dc3d5dd2f0f54d7e3f" PRIMARY KEY ("id")
    );
    CREATE INDEX "facts_club" ON "facts" ("club_id", "seq");
    CREATE TABLE "wakes" (
      "workflow_id" text NOT NULL,
      "seq" bigint NOT NULL DEFAULT '1',
      "workflow_type" text NOT NULL,
      "subject_id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "attributes" jsonb NOT NULL,
      "recorded_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "lease_until" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_88686e8d50f743f6d7e0972d202" PRIMARY KEY ("workflow_id")
    );
    CREATE INDEX "wakes_club" ON "wakes" ("club_id", "recorded_at");
    CREATE TABLE "administrator_sessions" (
      "token_hash" bytea NOT NULL,
      "administrator_id" uuid NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_f0e73958878054e9cfd44142168" PRIMARY KEY ("token_hash")
    );
    CREATE INDEX "administrator_sessions_administrator" ON "administrator_sessions" ("administrator_id");
    CREATE INDEX "administrator_sessions_expiry" ON "administrator_sessions" ("expires_at");
    CREATE TABLE "students" (
      "id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "name" text NOT NULL,
      "email" text,
      "password_hash" text,
      "verified_at" TIMESTAMP WITH TIME ZONE,
      "avatar_url" text,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "removed_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "students_removed_is_anonymous" CHECK ((removed_at IS NULL) = (email IS NOT NULL)),
      CONSTRAINT "PK_7d7f07271ad4ce999880713f05e" PRIMARY KEY ("id")
    );
    CREATE INDEX "students_club_created" ON "students" ("club_id", "created_at", "id") WHERE removed_at IS NULL;
    CREATE UNIQUE INDEX "students_club_email" ON "students" ("club_id", "email");
    CREATE TABLE "one_time_tokens" (
      "id" uuid NOT NULL,
      "purpose" text NOT NULL,
      "token_hash" bytea,
      "student_id" uuid,
      "administrator_id" uuid,
      "invitation_id" uuid,
      "password_hash" text,
      "tries_left" smallint,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "one_time_tokens_owner" CHECK (num_nonnulls(student_id, administrator_id, invitation_id) = 1),
      CONSTRAINT "PK_8e470cc9ffc1b2afa054304db17" PRIMARY KEY ("id")
    );
    CREATE UNIQUE INDEX "one_time_tokens_hash" ON "one_time_tokens" ("token_hash");
    CREATE INDEX "one_time_tokens_student" ON "one_time_tokens" ("student_id");
    CREATE INDEX "one_time_tokens_administrator" ON "one_time_tokens" ("administrator_id");
    CREATE INDEX "one_time_tokens_invitation" ON "one_time_tokens" ("invitation_id");
    CREATE INDEX "one_time_tokens_expiry" ON "one_time_tokens" ("expires_at");
    CREATE TABLE "student_sessions" (
      "token_hash" bytea NOT NULL,
      "student_id" uuid NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_7e391628e6e2e3dba267b977bfd" PRIMARY KEY ("token_hash")
    );
    CREATE INDEX "student_sessions_student" ON "student_sessions" ("student_id");
    CREATE INDEX "student_sessions_expiry" ON "student_sessions" ("expires_at");
    CREATE UNLOGGED TABLE "rate_limit_counters" (
      "key" character varying(255) NOT NULL,
      "points" integer NOT NULL DEFAULT '0',
      "expire" bigint,
      CONSTRAINT "PK_ad665f1998311a7bd0e8265365d" PRIMARY KEY ("key")
    );
    CREATE INDEX "rate_limit_counters_expiry" ON "rate_limit_counters" ("expire");
    CREATE TABLE "transactional_mails" (
      "id" uuid NOT NULL,
      "club_id" uuid,
      "template" text NOT NULL,
      "student_id" uuid,
      "administrator_id" uuid,
      "invitation_id" uuid,
      "address_key" bytea NOT NULL,
      "token_id" uuid,
      "status" text NOT NULL DEFAULT 'pending',
      "attempt_count" smallint NOT NULL DEFAULT '0',
      "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "fence" integer NOT NULL DEFAULT '0',
      "lease_until" TIMESTAMP WITH TIME ZONE,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "sent_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "transactional_mails_recipient" CHECK (num_nonnulls(student_id, administrator_id, invitation_id) <= 1),
      CONSTRAINT "transactional_mails_status" CHECK (status in ('pending', 'sent', 'failed', 'canceled')),
      CONSTRAINT "PK_05dbed6bdac7bf50801a57d8bd2" PRIMARY KEY ("id")
    );
    CREATE INDEX "transactional_mails_student" ON "transactional_mails" ("student_id");
    CREATE INDEX "transactional_mails_administrator" ON "transactional_mails" ("administrator_id");
    CREATE INDEX "transactional_mails_invitation" ON "transactional_mails" ("invitation_id");
    CREATE INDEX "transactional_mails_token" ON "transactional_mails" ("token_id");
    CREATE INDEX "transactional_mails_address" ON "transactional_mails" ("address_key", "template", "created_at");
    CREATE INDEX "transactional_mails_overdue" ON "transactional_mails" ("next_attempt_at") WHERE status = 'pending';
    CREATE TABLE "webhook_endpoints" (
      "id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "url" text NOT NULL,
      "description" text,
      "event_types" text array NOT NULL,
      "status" text NOT NULL DEFAULT 'enabled',
      "disabled_reason" text,
      "disabled_at" TIMESTAMP WITH TIME ZONE,
      "consecutive_failures" integer NOT NULL DEFAULT '0',
      "failing_since" TIMESTAMP WITH TIME ZONE,
      "hold_until" TIMESTAMP WITH TIME ZONE,
      "last_success_at" TIMESTAMP WITH TIME ZONE,
      "secret" bytea NOT NULL,
      "previous_secret" bytea,
      "previous_secret_expires_at" TIMESTAMP WITH TIME ZONE,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "webhook_endpoints_disabled_reason" CHECK (disabled_reason in ('manual', 'failing')),
      CONSTRAINT "webhook_endpoints_status" CHECK (status in ('enabled', 'paused', 'disabled')),
      CONSTRAINT "PK_054c4cfb95223732f5939d2d546" PRIMARY KEY ("id")
    );
    CREATE INDEX "webhook_endpoints_club" ON "webhook_endpoints" ("club_id", "created_at", "id");
    CREATE TABLE "webhook_events" (
      "id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "type" text NOT NULL,
      "student_id" uuid,
      "occurred_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "body" text,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_4cba37e6a0acb5e1fc49c34ebfd" PRIMARY KEY ("id")
    );
    CREATE INDEX "webhook_events_student" ON "webhook_events" ("student_id");
    CREATE INDEX "webhook_events_created" ON "webhook_events" ("created_at");
    CREATE TABLE "webhook_deliveries" (
      "id" uuid NOT NULL,
      "club_id" uuid NOT NULL,
      "endpoint_id" uuid NOT NULL,
      "event_id" uuid NOT NULL,
      "event_type" text NOT NULL,
      "student_id" uuid,
      "status" text NOT NULL DEFAULT 'pending',
      "cancel_reason" text,
      "payload_purged_at" TIMESTAMP WITH TIME ZONE,
      "attempt_count" smallint NOT NULL DEFAULT '0',
      "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "fence" integer NOT NULL DEFAULT '0',
      "lease_until" TIMESTAMP WITH TIME ZONE,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "completed_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "webhook_deliveries_attempts" CHECK (attempt_count between 0 and 8),
      CONSTRAINT "webhook_deliveries_cancel_reason" CHECK (cancel_reason in ('expired', 'student_removed')),
      CONSTRAINT "webhook_deliveries_status" CHECK (status in ('pending', 'succeeded', 'failed', 'canceled')),
      CONSTRAINT "PK_535dd409947fb6d8fc6dfc0112a" PRIMARY KEY ("id")
    );
    CREATE INDEX "webhook_deliveries_student" ON "webhook_deliveries" ("student_id");
    CREATE INDEX "webhook_deliveries_overdue" ON "webhook_deliveries" ("next_attempt_at") WHERE status = 'pending';
    CREATE INDEX "webhook_deliveries_pending" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at") WHERE status = 'pending';
    CREATE INDEX "webhook_deliveries_history" ON "webhook_deliveries" ("endpoint_id", "created_at", "id");
    CREATE UNIQUE INDEX "webhook_deliveries_once" ON "webhook_deliveries" ("event_id", "endpoint_id");
    CREATE TABLE "webhook_attempts" (
      "delivery_id" uuid NOT NULL,
      "fence" integer NOT NULL,
      "number" smallint NOT NULL,
      "trigger" text NOT NULL,
      "started_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "outcome" text,
      "duration_ms" integer,
      "response_status" smallint,
      "response_excerpt" text,
      "retry_after_seconds" integer,
      CONSTRAINT "webhook_attempts_trigger" CHECK (trigger in ('schedule', 'manual', 'recovery', 'test')),
      CONSTRAINT "PK_0a177e17d7a2eda73b96b5ffaeb" PRIMARY KEY ("delivery_id", "fence")
    );
    CREATE INDEX "webhook_attempts_started" ON "webhook_attempts" ("started_at");
    ALTER TABLE "invitations" ADD CONSTRAINT "FK_54dca5b29a692647e49a40d9754" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "memberships" ADD CONSTRAINT "FK_876414d7f41f3c6f07c3354caed" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "memberships" ADD CONSTRAINT "FK_aa16e3329616dbdc280bd8081c7" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "administrator_sessions" ADD CONSTRAINT "FK_02fa803059e459b10dc9151fd8f" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "students" ADD CONSTRAINT "FK_5c05e293297dbf56317cf5420c1" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "one_time_tokens" ADD CONSTRAINT "FK_c0a34d6c549430a09aaa98da8ee" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "one_time_tokens" ADD CONSTRAINT "FK_577160e8d0bc8ca1a5847c029bb" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "one_time_tokens" ADD CONSTRAINT "FK_84dd23ebadb6931be411c9c4646" FOREIGN KEY ("invitation_id") REFERENCES "invitations"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "student_sessions" ADD CONSTRAINT "FK_a29d416d6170214a76eb156eedb" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_8be78ae443b44f1fd02fa38c9fa" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_facd1a4569fed6e322dd173be6f" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_d52b69f91b1ba83aa5c989304e0" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_4cd97c1015b3a1155cb8bfb685a" FOREIGN KEY ("invitation_id") REFERENCES "invitations"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
    ALTER TABLE "transactional_mails" ADD CONSTRAINT "FK_6ed1dcfb8f3a7ee3f4a9028a9d3" FOREIGN KEY ("token_id") REFERENCES "one_time_tokens"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
    ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "FK_764a822ec95bc4988b6baf51891" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "webhook_events" ADD CONSTRAINT "FK_6ccbe457f954a451029961f7b1f" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "FK_0b882c26a9b91c26e6e86b4867c" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "FK_27d1ee90033bdafe0ffe8f1be6f" FOREIGN KEY ("event_id") REFERENCES "webhook_events"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
    ALTER TABLE "webhook_attempts" ADD CONSTRAINT "FK_0d56d91d61b827bb2079c256538" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;
