/** Workflows whose last step failed by a fault of ours, and when the sweeper has last done a complete round. Old processes neither write nor read them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "failing_steps" (
    "workflow_id" text NOT NULL,
    "workflow_type" text NOT NULL,
    "fault_count" integer NOT NULL,
    "error_code" text NOT NULL,
    "failing_since" TIMESTAMP WITH TIME ZONE NOT NULL,
    "retry_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_failing_steps" PRIMARY KEY ("workflow_id")
  );
  CREATE INDEX "failing_steps_retry" ON "failing_steps"  ("retry_at");
  CREATE TABLE "upkeep_rounds" (
    "name" text NOT NULL,
    "completed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_upkeep_rounds" PRIMARY KEY ("name")
  );
`;

const down = `
  DROP TABLE "upkeep_rounds";
  DROP TABLE "failing_steps";
`;

export class FailingSteps1795353600000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
