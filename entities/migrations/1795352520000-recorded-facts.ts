/**
 * When a fact was written. Until now `occurred_at` said so; facts of sales now have the platform's time there, which can be days
 * ago, and the age of the outbox must not follow it. Old processes leave the column out: its default is right for their rows too.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "facts" ADD "recorded_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
  ALTER TABLE "facts" ALTER COLUMN "recorded_at" SET DEFAULT clock_timestamp();
  DROP INDEX "public"."facts_failing";
  CREATE INDEX "facts_failing" ON "facts"  ("recorded_at") WHERE attempt_count > 0;
`;

const down = `
  DROP INDEX "public"."facts_failing";
  CREATE INDEX "facts_failing" ON "facts"  ("occurred_at") WHERE attempt_count > 0;
  ALTER TABLE "facts" DROP COLUMN "recorded_at";
`;

export class RecordedFacts1795352520000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
