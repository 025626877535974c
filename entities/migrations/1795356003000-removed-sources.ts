/**
 * Sources that have left the index, and wait for their rows to be removed: without a lesson and without a file, so that another
 * source of the same can stand beside them. A time at which somebody must look stays until the row is gone.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "agent_sources" ADD "removed_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "agent_sources" DROP CONSTRAINT "agent_sources_kind";
  ALTER TABLE "agent_sources" ADD CONSTRAINT "agent_sources_kind"
    CHECK ((kind = 'lesson' AND (lesson_id IS NULL) = (removed_at IS NOT NULL) AND media_id IS NULL) OR (kind = 'media' AND (media_id IS NULL) = (removed_at IS NOT NULL) AND lesson_id IS NULL));
  ALTER TABLE "agent_sources" ADD CONSTRAINT "agent_sources_removed" CHECK (removed_at IS NULL OR looks_at IS NOT NULL);
`;

const down = `
  DELETE FROM "agent_sources" WHERE removed_at IS NOT NULL;
  ALTER TABLE "agent_sources" DROP CONSTRAINT "agent_sources_removed";
  ALTER TABLE "agent_sources" DROP CONSTRAINT "agent_sources_kind";
  ALTER TABLE "agent_sources" ADD CONSTRAINT "agent_sources_kind"
    CHECK ((kind = 'lesson' AND lesson_id IS NOT NULL AND media_id IS NULL) OR (kind = 'media' AND media_id IS NOT NULL AND lesson_id IS NULL));
  ALTER TABLE "agent_sources" DROP COLUMN "removed_at";
`;

export class RemovedSources1795356003000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
