/** How urgent facts, wakes and mails are. Old processes do not write it: what they write is normal. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "facts" ADD "priority" smallint NOT NULL DEFAULT '1';
  ALTER TABLE "wakes" ADD "priority" smallint NOT NULL DEFAULT '1';
  ALTER TABLE "transactional_mails" ADD "priority" smallint NOT NULL DEFAULT '1';
  DROP INDEX "public"."facts_turn";
  DROP INDEX "public"."wakes_turn";
  CREATE INDEX "facts_turn" ON "facts"  ("club_id", "priority", "due_at", "seq");
  CREATE INDEX "wakes_turn" ON "wakes"  ("club_id", "priority", "due_at");
`;

const down = `
  DROP INDEX "public"."wakes_turn";
  DROP INDEX "public"."facts_turn";
  CREATE INDEX "wakes_turn" ON "wakes"  ("club_id", "due_at");
  CREATE INDEX "facts_turn" ON "facts"  ("club_id", "due_at", "seq");
  ALTER TABLE "transactional_mails" DROP COLUMN "priority";
  ALTER TABLE "wakes" DROP COLUMN "priority";
  ALTER TABLE "facts" DROP COLUMN "priority";
`;

export class Priorities1763773000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
