/** Facts and wakes that relays have leased, found by their club: a few rows among many. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE INDEX "facts_leased" ON "facts"  ("club_id", "lease_until") WHERE lease_until IS NOT NULL;
  CREATE INDEX "wakes_leased" ON "wakes"  ("club_id", "lease_until") WHERE lease_until IS NOT NULL;
`;

const down = `
  DROP INDEX "public"."wakes_leased";
  DROP INDEX "public"."facts_leased";
`;

export class LeasedRows1763771000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
