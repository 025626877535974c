/** Plans and billing: the club's plan, add-ons, overage, the processor's events, and an exact count of students. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The count is kept by triggers, so that no writer can forget it. An addition holds the club's row until its commit, which
 * makes the last place one person's; a departure only notes a change, and waits for nobody.
 */
const triggers = `
  CREATE FUNCTION "students_added"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_counts AS counted (club_id, students)
    SELECT club_id, count(*) FROM added WHERE removed_at IS NULL GROUP BY club_id ORDER BY club_id
    ON CONFLICT (club_id) DO UPDATE SET students = counted.students + excluded.students;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "students_deleted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT club_id, -count(*) FROM deleted WHERE removed_at IS NULL GROUP BY club_id;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "students_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT changed.club_id, sum(changed.students)
      FROM (VALUES (OLD.club_id, -(OLD.removed_at IS NULL)::int), (NEW.club_id, (NEW.removed_at IS NULL)::int))
        AS changed (club_id, students)
     GROUP BY 1;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "students_counted_in" AFTER INSERT ON "students"
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "students_added"();
  CREATE TRIGGER "students_counted_out" AFTER DELETE ON "students"
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION "students_deleted"();
  CREATE TRIGGER "students_recounted" AFTER UPDATE OF removed_at, club_id ON "students"
    FOR EACH ROW WHEN ((OLD.club_id, OLD.removed_at IS NULL) IS DISTINCT FROM (NEW.club_id, NEW.removed_at IS NULL))
    EXECUTE FUNCTION "students_changed"();
`;

const up = `
  CREATE TABLE "add_ons" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "quantity" integer NOT NULL,
    "adds" bigint NOT NULL,
    "amount" integer NOT NULL,
    "currency" text NOT NULL,
    "status" text NOT NULL,
    "customer_id" text NOT NULL,
    "payment_method_id" text,
    "payment_id" text,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "settled_at" TIMESTAMP WITH TIME ZONE,
    "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "attempt_count" integer NOT NULL DEFAULT '0',
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "add_ons_quantity" CHECK (quantity > 0),
    CONSTRAINT "add_ons_paid" CHECK (status <> 'active' OR payment_id IS NOT NULL),
    CONSTRAINT "add_ons_settled" CHECK ((status = 'pending') = (settled_at IS NULL)),
    CONSTRAINT "add_ons_status" CHECK (status in ('pending', 'active', 'failed')),
    CONSTRAINT "add_ons_kind" CHECK (kind in ('storage', 'ai_budget', 'students')),
    CONSTRAINT "PK_16b0b20fb9aec455ea78e6065cb" PRIMARY KEY ("id")
  );
  CREATE INDEX "add_ons_due" ON "add_ons" ("next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "add_ons_club" ON "add_ons" ("club_id", "created_at", "id");
  CREATE TABLE "billing_events" (
    "id" text NOT NULL,
    "club_id" uuid,
    "type" text NOT NULL,
    "created" TIMESTAMP WITH TIME ZONE NOT NULL,
    "received_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "customer_id" text,
    "subscription_id" text,
    "plan" text,
    "status" text,
    "current_period_end" TIMESTAMP WITH TIME ZONE,
    "outcome" text NOT NULL,
    CONSTRAINT "billing_events_outcome" CHECK (outcome in ('applied', 'outdated', 'ignored', 'unknown_club', 'unknown_price', 'customer_of_another_club')),
    CONSTRAINT "PK_9a4a4a1b1f55bbc868f6a76a597" PRIMARY KEY ("id")
  );
  CREATE INDEX "billing_events_customer" ON "billing_events" ("customer_id") WHERE club_id IS NULL;
  CREATE INDEX "billing_events_club" ON "billing_events" ("club_id", "created");
  CREATE TABLE "club_plans" (
    "club_id" uuid NOT NULL,
    "plan" text NOT NULL,
    "status" text NOT NULL,
    "customer_id" text,
    "subscription_id" text,
    "current_period_end" TIMESTAMP WITH TIME ZONE,
    "changed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "club_plans_status" CHECK (status in ('active', 'past_due', 'canceled')),
    CONSTRAINT "club_plans_plan" CHECK (plan in ('starter', 'professional', 'business')),
    CONSTRAINT "PK_7721b12abbcfc7f89b02a2c957d" PRIMARY KEY ("club_id")
  );
  CREATE UNIQUE INDEX "club_plans_customer" ON "club_plans" ("customer_id") WHERE customer_id IS NOT NULL;
  CREATE TABLE "club_student_changes" (
    "club_id" uuid NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "students" integer NOT NULL,
    CONSTRAINT "PK_ecd96486e93d3a2d549f2dad757" PRIMARY KEY ("club_id", "seq")
  );
  CREATE TABLE "club_student_counts" (
    "club_id" uuid NOT NULL,
    "students" integer NOT NULL,
    CONSTRAINT "PK_7a09d9eea78d2a3c0c8cd88e1e8" PRIMARY KEY ("club_id")
  );
  CREATE TABLE "overages" (
    "club_id" uuid NOT NULL,
    "resource" text NOT NULL,
    "month" date NOT NULL,
    "excess" bigint NOT NULL,
    "reached_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "overages_excess" CHECK (excess > 0),
    CONSTRAINT "overages_resource" CHECK (resource in ('students', 'storage_bytes', 'ai_budget')),
    CONSTRAINT "PK_3d35a16ecc375a455aba9e0fd19" PRIMARY KEY ("club_id", "resource", "month")
  );
  ALTER TABLE "add_ons" ADD CONSTRAINT "FK_b6135119d2a32dbeb2d4d429783" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "club_plans" ADD CONSTRAINT "FK_7721b12abbcfc7f89b02a2c957d" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "overages" ADD CONSTRAINT "FK_4e1fb68bfc7ccdaf904a54dba22" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ${triggers}
  -- After the triggers, whose creation keeps writers out until the commit.
  INSERT INTO "club_student_counts" SELECT club_id, count(*) FROM "students" WHERE removed_at IS NULL GROUP BY 1;
`;

const down = `
  DROP TRIGGER "students_recounted" ON "students";
  DROP TRIGGER "students_counted_out" ON "students";
  DROP TRIGGER "students_counted_in" ON "students";
  DROP FUNCTION "students_changed";
  DROP FUNCTION "students_deleted";
  DROP FUNCTION "students_added";
  DROP TABLE "add_ons";
  DROP TABLE "billing_events";
  DROP TABLE "club_plans";
  DROP TABLE "club_student_changes";
  DROP TABLE "club_student_counts";
  DROP TABLE "overages";
`;

export class Billing1763746000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
