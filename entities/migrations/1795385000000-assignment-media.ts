/** Assignments and reviews that show files of the library. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const kinds = (names: string) => `
  ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
  ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${names}));
`;
const before = `'lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version'`;

export class AssignmentMedia1795385000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(kinds(`${before}, 'assignment', 'assignment_review'`));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "media_uses" WHERE kind LIKE 'assignment%'`);
    await queryRunner.query(kinds(before));
  }
}
