/** Wrong one-time codes, counted for each address and day. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "code_failure_counts" (
    "address_key" bytea NOT NULL,
    "day" date NOT NULL,
    "failures" integer NOT NULL,
    CONSTRAINT "code_failure_counts_key" PRIMARY KEY ("address_key")
  );
  CREATE INDEX "code_failure_counts_day" ON "code_failure_counts" ("day");
`;

const down = `DROP TABLE "code_failure_counts";`;

export class CodeFailures1795360100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
