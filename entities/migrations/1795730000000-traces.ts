/** In which trace facts and wakes were written. Releases of before write and read none. */
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
