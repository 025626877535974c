/** What sales platforms tell: connections, notices, purchases, subscriptions. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "subscriptions" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "product_id" uuid NOT NULL,
    "platform" text NOT NULL,
    "external_id" text NOT NULL,
    "status" text NOT NULL DEFAULT 'active',
    "current_period_end" TIMESTAMP WITH TIME ZONE,
    "period_stated_at" TIMESTAMP WITH TIME ZONE,
    "past_due_since" TIMESTAMP WITH TIME ZONE,
    "canceled_at" TIMESTAMP WITH TIME ZONE,
    "steps_taken" smallint NOT NULL DEFAULT '0',
    "ends_before" jsonb NOT NULL DEFAULT '{}',
    "end_looks_at" TIMESTAMP WITH TIME ZONE,
    "access_ended_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "subscriptions_status" CHECK (status in ('active', 'past_due', 'canceled')),
    CONSTRAINT "PK_a87248d73155605cf782be9ee5e" PRIMARY KEY ("id")
  );
  CREATE INDEX "subscriptions_product" ON "subscriptions" ("product_id");
  CREATE INDEX "subscriptions_end" ON "subscriptions" ("end_looks_at") WHERE end_looks_at IS NOT NULL;
  CREATE INDEX "subscriptions_student" ON "subscriptions" ("student_id", "created_at", "id");
  CREATE INDEX "subscriptions_club" ON "subscriptions" ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "subscriptions_identity" ON "subscriptions" ("club_id", "platform", "external_id");
  CREATE TABLE "purchases" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "product_id" uuid NOT NULL,
    "subscription_id" uuid,
    "platform" text NOT NULL,
    "external_id" text NOT NULL,
    "status" text NOT NULL DEFAULT 'paid',
    "amount" bigint NOT NULL,
    "currency" text NOT NULL,
    "terms_rank" smallint NOT NULL,
    "terms_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "paid_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "refunded_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "purchases_amount" CHECK (amount >= 0),
    CONSTRAINT "purchases_status" CHECK (status in ('paid', 'refunded', 'chargeback')),
    CONSTRAINT "PK_1d55032f37a34c6eceacbbca6b8" PRIMARY KEY ("id")
  );
  CREATE INDEX "purchases_product" ON "purchases" ("product_id");
  CREATE INDEX "purchases_subscription" ON "purchases" ("subscription_id", "paid_at") WHERE subscription_id IS NOT NULL;
  CREATE INDEX "purchases_student" ON "purchases" ("student_id", "created_at", "id");
  CREATE INDEX "purchases_club" ON "purchases" ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "purchases_identity" ON "purchases" ("club_id", "platform", "external_id");
  CREATE TABLE "sales_connections" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "platform" text NOT NULL,
    "name" text NOT NULL,
    "token_hash" bytea NOT NULL,
    "secret" bytea,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "rotated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "deleted_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "sales_connections_platform" CHECK (platform in ('generic', 'hotmart', 'kiwify')),
    CONSTRAINT "PK_1de689a0e17382400a4406a1216" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "sales_connections_token" ON "sales_connections" ("token_hash");
  CREATE INDEX "sales_connections_club" ON "sales_connections" ("club_id", "created_at", "id");
  CREATE TABLE "sales_notices" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "connection_id" uuid NOT NULL,
    "platform" text NOT NULL,
    "body" bytea,
    "proof" bytea,
    "addresses" text array NOT NULL DEFAULT '{}',
    "student_id" uuid,
    "status" text NOT NULL DEFAULT 'pending',
    "error_code" text,
    "error_path" text,
    "attempt_count" integer NOT NULL DEFAULT '0',
    "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "received_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "processed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "sales_notices_status" CHECK (status in ('pending', 'processed', 'ignored', 'failed')),
    CONSTRAINT "PK_e2c77d95b159d0f8eda04ba1c98" PRIMARY KEY ("id")
  );
  CREATE INDEX "sales_notices_student" ON "sales_notices" ("student_id") WHERE student_id IS NOT NULL;
  CREATE INDEX "sales_notices_kept" ON "sales_notices" ("received_at") WHERE body IS NOT NULL;
  CREATE INDEX "sales_notices_overdue" ON "sales_notices" ("next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "sales_notices_connection" ON "sales_notices" ("connection_id", "received_at", "id");
  CREATE INDEX "sales_notices_club_status" ON "sales_notices" ("club_id", "status", "received_at", "id");
  CREATE INDEX "sales_notices_club" ON "sales_notices" ("club_id", "received_at", "id");
  CREATE TABLE "subscription_marks" (
    "subscription_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "key" text NOT NULL,
    "at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "period_end" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "subscription_marks_kind" CHECK (kind in ('late', 'canceled')),
    CONSTRAINT "PK_e9dbcb038b9b04b2ef2da03616b" PRIMARY KEY ("subscription_id", "kind", "key")
  );
  ALTER TABLE "subscriptions" ADD CONSTRAINT "FK_dee89f47ca621f441b655c282b4" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "subscriptions" ADD CONSTRAINT "FK_b7f78362e96be1edd6203e047f6" FOREIGN KEY ("product_id") REFERENCES "products"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "purchases" ADD CONSTRAINT "FK_04db0dd166ed70c148b929214c8" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "purchases" ADD CONSTRAINT "FK_1ce91bd87ddfcecde930deeaab9" FOREIGN KEY ("product_id") REFERENCES "products"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "purchases" ADD CONSTRAINT "FK_12dc9ccc432f0ab25a481877eba" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "sales_connections" ADD CONSTRAINT "FK_19be848476d34e516c4ace56cc3" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "sales_notices" ADD CONSTRAINT "FK_203ae8de606a58914fa740f9ab3" FOREIGN KEY ("connection_id") REFERENCES "sales_connections"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "subscription_marks" ADD CONSTRAINT "FK_f15ad1df2bc7d87302466c13e67" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "purchases";
  DROP TABLE "sales_notices";
  DROP TABLE "subscription_marks";
  DROP TABLE "subscriptions";
  DROP TABLE "sales_connections";
`;

export class Sales1763745000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
