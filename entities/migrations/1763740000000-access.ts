/** What a club grants: courses with their lessons, cohorts, deliveries and enrollments; facts about more than the student. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "courses" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "public_id" text NOT NULL,
    "title" text NOT NULL,
    "description" text NOT NULL DEFAULT '',
    "status" text NOT NULL DEFAULT 'draft',
    "hours" smallint,
    "certificate_on_completion" boolean NOT NULL DEFAULT false,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "published_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "courses_status" CHECK (status in ('draft', 'published', 'archived')),
    CONSTRAINT "PK_3f70a487cc718ad8eda4e6d58c9" PRIMARY KEY ("id")
  );
  CREATE INDEX "courses_club_created" ON "courses" ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "courses_club_public_id" ON "courses" ("club_id", "public_id");
  CREATE TABLE "cohorts" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "course_id" uuid NOT NULL,
    "name" text NOT NULL,
    "starts_at" TIMESTAMP WITH TIME ZONE,
    "ends_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "cohorts_dates" CHECK (ends_at > starts_at),
    CONSTRAINT "PK_fd38f76b135e907b834fda1e752" PRIMARY KEY ("id")
  );
  CREATE INDEX "cohorts_course" ON "cohorts" ("course_id", "created_at", "id");
  CREATE TABLE "access_deliveries" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "name" text NOT NULL,
    "kind" text NOT NULL,
    "course_id" uuid,
    "cohort_id" uuid,
    "free" boolean NOT NULL DEFAULT false,
    "access_days" integer,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "archived_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "access_deliveries_days" CHECK (access_days > 0),
    CONSTRAINT "access_deliveries_kind" CHECK (kind = 'course' AND course_id IS NOT NULL),
    CONSTRAINT "PK_36f9e4c996d07791f4d1eeda740" PRIMARY KEY ("id")
  );
  CREATE INDEX "access_deliveries_course" ON "access_deliveries" ("course_id");
  CREATE INDEX "access_deliveries_cohort" ON "access_deliveries" ("cohort_id");
  CREATE INDEX "access_deliveries_free" ON "access_deliveries" ("club_id") WHERE free AND archived_at IS NULL;
  CREATE INDEX "access_deliveries_club" ON "access_deliveries" ("club_id", "created_at", "id");
  CREATE TABLE "enrollments" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "delivery_id" uuid NOT NULL,
    "cohort_id" uuid,
    "source" text NOT NULL,
    "origin_id" uuid,
    "starts_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "ends_at" TIMESTAMP WITH TIME ZONE,
    "revoked_at" TIMESTAMP WITH TIME ZONE,
    "revoked_reason" text,
    "superseded_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "enrollments_origin" CHECK ((origin_id IS NOT NULL) = (source in ('purchase', 'subscription'))),
    CONSTRAINT "enrollments_revoked_reason" CHECK (revoked_reason in ('refund', 'cancellation', 'revocation', 'removal')),
    CONSTRAINT "enrollments_revoked" CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL)),
    CONSTRAINT "enrollments_source" CHECK (source in ('purchase', 'subscription', 'grant', 'invite', 'import', 'registration_link', 'free')),
    CONSTRAINT "PK_7c0f752f9fb68bf6ed7367ab00f" PRIMARY KEY ("id")
  );
  CREATE INDEX "enrollments_cohort" ON "enrollments" ("cohort_id");
  CREATE INDEX "enrollments_delivery" ON "enrollments" ("delivery_id", "created_at", "id");
  CREATE INDEX "enrollments_club" ON "enrollments" ("club_id", "created_at", "id");
  CREATE INDEX "enrollments_student" ON "enrollments" ("student_id", "created_at", "id");
  CREATE UNIQUE INDEX "enrollments_current" ON "enrollments" ("student_id", "delivery_id") WHERE origin_id IS NULL AND revoked_at IS NULL AND superseded_at IS NULL;
  CREATE UNIQUE INDEX "enrollments_of_sale" ON "enrollments" ("origin_id", "delivery_id") WHERE origin_id IS NOT NULL;
  CREATE TABLE "modules" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "course_id" uuid NOT NULL,
    "title" text NOT NULL,
    "position" integer NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_7dbefd488bd96c5bf31f0ce0c95" PRIMARY KEY ("id")
  );
  CREATE INDEX "modules_course" ON "modules" ("course_id", "position", "id");
  CREATE TABLE "lessons" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "course_id" uuid NOT NULL,
    "module_id" uuid,
    "public_id" text NOT NULL,
    "title" text NOT NULL,
    "content" text NOT NULL DEFAULT '',
    "position" integer NOT NULL,
    "points" integer NOT NULL DEFAULT '0',
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "published_at" TIMESTAMP WITH TIME ZONE,
    "removed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "PK_9b9a8d455cac672d262d7275730" PRIMARY KEY ("id")
  );
  CREATE INDEX "lessons_module" ON "lessons" ("module_id", "position", "id");
  CREATE INDEX "lessons_course" ON "lessons" ("course_id");
  CREATE UNIQUE INDEX "lessons_club_public_id" ON "lessons" ("club_id", "public_id");
  ALTER TABLE "facts" ADD "subject_id" uuid;
  ALTER TABLE "facts" ADD "details" jsonb;
  ALTER TABLE "courses" ADD CONSTRAINT "FK_91125b44ad1b00daf352f097f25" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "cohorts" ADD CONSTRAINT "FK_f4228ff8a867fe9bdc7fe5d07ee" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "FK_c3a3ccb163a5ac35889901660f6" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "FK_c6ecca55ea831a09ebb066339df" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "FK_6d9a244e60c83960ff1583945cd" FOREIGN KEY ("cohort_id") REFERENCES "cohorts"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "enrollments" ADD CONSTRAINT "FK_307813fe255896d6ebf3e6cd55c" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "enrollments" ADD CONSTRAINT "FK_3c4d56a0acfc0cbbdbf7437edf6" FOREIGN KEY ("delivery_id") REFERENCES "access_deliveries"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "enrollments" ADD CONSTRAINT "FK_66dbba19e66e25c3814f80b6478" FOREIGN KEY ("cohort_id") REFERENCES "cohorts"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "modules" ADD CONSTRAINT "FK_0a00005552998b16b7e89340843" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lessons" ADD CONSTRAINT "FK_3c4e299cf8ed04093935e2e22fe" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "lessons" ADD CONSTRAINT "FK_35fb2307535d90a6ed290af1f4a" FOREIGN KEY ("module_id") REFERENCES "modules"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
`;

const down = `
  ALTER TABLE "facts" DROP "details";
  ALTER TABLE "facts" DROP "subject_id";
  DROP TABLE "enrollments";
  DROP TABLE "lessons";
  DROP TABLE "access_deliveries";
  DROP TABLE "modules";
  DROP TABLE "cohorts";
  DROP TABLE "courses";
`;

export class Access1763740000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
