/**
 * New passages of a source are written beside the old ones, and take their place at the end of the transaction: its row is not
 * locked while they are written, which takes seconds for a large file.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  DROP INDEX "public"."agent_passages_source";
  ALTER TABLE "agent_passages" ADD CONSTRAINT "agent_passages_source" UNIQUE ("source_id", "position") DEFERRABLE INITIALLY IMMEDIATE;
  ALTER TABLE "agent_passages" ALTER CONSTRAINT "FK_0e588396cb9d7d336b157e32724" DEFERRABLE INITIALLY IMMEDIATE;
`;

const down = `
  ALTER TABLE "agent_passages" ALTER CONSTRAINT "FK_0e588396cb9d7d336b157e32724" NOT DEFERRABLE;
  ALTER TABLE "agent_passages" DROP CONSTRAINT "agent_passages_source";
  CREATE UNIQUE INDEX "agent_passages_source" ON "agent_passages"  ("source_id", "position");
`;

export class PassagesInPlace1763763000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
