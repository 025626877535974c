/** Adds the trace in which a fact or a wake was written. Older releases neither write nor read it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "facts" ADD "traceparent" text;
  ALTER TABLE "wakes" ADD "traceparent" text;
`;
const down = `
  ALTER TABLE "wakes" DROP COLUMN "traceparent";
  ALTER TABLE "facts" DROP COLUMN "traceparent";
`;

export class Traces1795730000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
