/** A mentor whose session moved to another mentor is told when it was to be (MENT-11); a mentor's sessions are listed by an index. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "transactional_mails"
    ADD "former_starts_at" TIMESTAMP WITH TIME ZONE,
    ADD "former_ends_at" TIMESTAMP WITH TIME ZONE;
  CREATE INDEX "mentorship_sessions_of_mentor" ON "mentorship_sessions" ("club_id", "mentor_id", "starts_at", "id");
`;

const down = `
  DROP INDEX "mentorship_sessions_of_mentor";
  ALTER TABLE "transactional_mails" DROP COLUMN "former_ends_at", DROP COLUMN "former_starts_at";
`;

export class FormerMentors1795425100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
