/** What agents are asked, use and cost, by month. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "agent_months" (
    "agent_id" uuid NOT NULL,
    "month" date NOT NULL,
    "club_id" uuid NOT NULL,
    "questions" integer NOT NULL DEFAULT '0',
    "complete" integer NOT NULL DEFAULT '0',
    "truncated" integer NOT NULL DEFAULT '0',
    "refused" integer NOT NULL DEFAULT '0',
    "failed" integer NOT NULL DEFAULT '0',
    "input_tokens" bigint NOT NULL DEFAULT '0',
    "output_tokens" bigint NOT NULL DEFAULT '0',
    "cache_write_tokens" bigint NOT NULL DEFAULT '0',
    "cache_read_tokens" bigint NOT NULL DEFAULT '0',
    "cost_micros" bigint NOT NULL DEFAULT '0',
    CONSTRAINT "agent_months_answers" CHECK (complete + truncated + refused + failed <= questions),
    CONSTRAINT "PK_57d732b09604713f982bed34139" PRIMARY KEY ("agent_id", "month")
  );
  CREATE INDEX "agent_months_club" ON "agent_months"  ("club_id", "month", "cost_micros");
  ALTER TABLE "agent_months" ADD CONSTRAINT "FK_e80f92c5ef8a30b3a3390aac321" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  ALTER TABLE "agent_months" DROP CONSTRAINT "FK_e80f92c5ef8a30b3a3390aac321";
  DROP INDEX "public"."agent_months_club";
  DROP TABLE "agent_months";
`;

export class AgentMonths1763767000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
