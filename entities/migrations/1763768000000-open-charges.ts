/** Charges that are still to be settled. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE INDEX "agent_charges_open" ON "agent_charges"  ("answer_id") WHERE settled_at IS NULL;
`;

const down = `
  DROP INDEX "public"."agent_charges_open";
`;

export class OpenCharges1763768000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
