/** Adds the times at which passages and citations of videos and sounds are spoken. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "agent_passages" ADD "from_seconds" integer[], ADD "to_seconds" integer[];
  ALTER TABLE "agent_citations" ADD "from_seconds" integer, ADD "to_seconds" integer;
`;
const down = `
  ALTER TABLE "agent_citations" DROP COLUMN "to_seconds", DROP COLUMN "from_seconds";
  ALTER TABLE "agent_passages" DROP COLUMN "to_seconds", DROP COLUMN "from_seconds";
`;

export class PassagesByTime1795753000200 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
