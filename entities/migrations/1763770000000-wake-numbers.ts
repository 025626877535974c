/** Numbers of wakes from a sequence, and whether a wake was raised. Old processes write neither: the defaults are right for them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows that stand already have small numbers, which old processes counted from 1: no new number may be one of these. */
const up = `
  CREATE SEQUENCE "wakes_seq_seq" START WITH 1000000000 OWNED BY "wakes"."seq";
  ALTER TABLE "wakes" ALTER COLUMN "seq" SET DEFAULT nextval('wakes_seq_seq');
  ALTER TABLE "wakes" ADD "raised" boolean NOT NULL DEFAULT false;
`;

const down = `
  ALTER TABLE "wakes" DROP COLUMN "raised";
  ALTER TABLE "wakes" ALTER COLUMN "seq" SET DEFAULT '1';
  DROP SEQUENCE "wakes_seq_seq";
`;

export class WakeNumbers1763770000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
