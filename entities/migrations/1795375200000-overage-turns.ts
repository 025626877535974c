/** The turn of the month for clubs that are beyond an allowance: the excess that stays is recorded anew (BILL-7). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Clubs that may be beyond an allowance now are looked at for the present month. */
const up = `
  CREATE TABLE "overage_turns" (
    "club_id" uuid NOT NULL,
    "turns_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_487a1ea0c23b51338994bc0ea56" PRIMARY KEY ("club_id")
  );
  CREATE INDEX "overage_turns_due" ON "overage_turns" ("turns_at");
  ALTER TABLE "overage_turns" ADD CONSTRAINT "FK_487a1ea0c23b51338994bc0ea56" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  INSERT INTO "overage_turns" (club_id, turns_at)
  SELECT id, date_trunc('month', now() AT TIME ZONE time_zone) AT TIME ZONE time_zone FROM "clubs" club
   WHERE EXISTS (SELECT FROM "overages" recorded WHERE recorded.club_id = club.id)
      OR coalesce((SELECT plan FROM "club_plans" WHERE club_id = club.id), club.opening_plan) = 'business';
`;

const down = `
  DROP TABLE "overage_turns";
`;

export class OverageTurns1795375200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
