/**
 * When a fact or a wake is due, and how often it has failed. Old processes write neither column: their rows are due at once.
 * The time of each row breaks ties of one transaction, so the default that stays is the clock, not the transaction's begin.
 *
 * An empty queue keeps its pages: the planner prices a scan by them, so the plan of a claim that was prepared while the queue was
 * empty still goes through the indexes when 50,000 rows come at once.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "facts" ADD "attempt_count" smallint NOT NULL DEFAULT '0', ADD "due_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
  ALTER TABLE "facts" ALTER COLUMN "due_at" SET DEFAULT clock_timestamp();
  ALTER TABLE "wakes" ADD "attempt_count" smallint NOT NULL DEFAULT '0', ADD "due_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
  ALTER TABLE "wakes" ALTER COLUMN "due_at" SET DEFAULT clock_timestamp();
  DROP INDEX "public"."facts_club";
  DROP INDEX "public"."wakes_club";
  CREATE INDEX "facts_turn" ON "facts"  ("club_id", "due_at", "seq");
  CREATE INDEX "wakes_turn" ON "wakes"  ("club_id", "due_at");
  ALTER TABLE "facts" SET (vacuum_truncate = off);
  ALTER TABLE "wakes" SET (vacuum_truncate = off);
  CREATE INDEX "facts_failing" ON "facts"  ("occurred_at") WHERE attempt_count > 0;
  CREATE INDEX "wakes_failing" ON "wakes"  ("recorded_at") WHERE attempt_count > 0;
`;

const down = `
  DROP INDEX "public"."wakes_failing";
  DROP INDEX "public"."facts_failing";
  DROP INDEX "public"."wakes_turn";
  DROP INDEX "public"."facts_turn";
  CREATE INDEX "wakes_club" ON "wakes"  ("club_id", "recorded_at");
  CREATE INDEX "facts_club" ON "facts"  ("club_id", "seq");
  ALTER TABLE "facts" RESET (vacuum_truncate);
  ALTER TABLE "wakes" RESET (vacuum_truncate);
  ALTER TABLE "wakes" DROP COLUMN "due_at", DROP COLUMN "attempt_count";
  ALTER TABLE "facts" DROP COLUMN "due_at", DROP COLUMN "attempt_count";
`;

export class FailingRows1763772000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
