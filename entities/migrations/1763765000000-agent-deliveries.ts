/** Deliveries that open an agent: the check of their kinds, as the entity has it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "access_deliveries" DROP CONSTRAINT "access_deliveries_kind";
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "access_deliveries_kind" CHECK (
    (kind = 'course' AND course_id IS NOT NULL AND agent_id IS NULL)
    OR (kind = 'agent' AND agent_id IS NOT NULL AND course_id IS NULL AND cohort_id IS NULL));
`;

const down = `
  ALTER TABLE "access_deliveries" DROP CONSTRAINT "access_deliveries_kind";
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "access_deliveries_kind" CHECK (kind = 'course' AND course_id IS NOT NULL);
`;

export class AgentDeliveries1763765000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
