/** The plan that a club opens with: professional for those that are there, and the configured one for new ones. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const plans = `'trial', 'starter', 'professional', 'business'`;

const up = `
  ALTER TABLE "clubs" ADD "opening_plan" text NOT NULL DEFAULT 'professional';
  ALTER TABLE "clubs" ADD CONSTRAINT "clubs_opening_plan" CHECK (opening_plan in (${plans}));
  ALTER TABLE "club_plans" DROP CONSTRAINT "club_plans_plan";
  ALTER TABLE "club_plans" ADD CONSTRAINT "club_plans_plan" CHECK (plan in (${plans}));
`;

const down = `
  UPDATE "club_plans" SET plan = 'starter' WHERE plan = 'trial';
  ALTER TABLE "club_plans" DROP CONSTRAINT "club_plans_plan";
  ALTER TABLE "club_plans" ADD CONSTRAINT "club_plans_plan" CHECK (plan in ('starter', 'professional', 'business'));
  ALTER TABLE "clubs" DROP CONSTRAINT "clubs_opening_plan";
  ALTER TABLE "clubs" DROP COLUMN "opening_plan";
`;

export class OpeningPlans1795360102000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
