/** Pictures of students are files of theirs, and a student's row says where the store has the one that is shown (MED-28). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const purposes = (ofStudents: string) => `
  ALTER TABLE "media" DROP CONSTRAINT "media_purpose";
  ALTER TABLE "media" ADD CONSTRAINT "media_purpose" CHECK ((purpose = 'library' AND owner_id IS NULL) OR (purpose in (${ofStudents}) AND owner_id IS NOT NULL));
`;

const up = `
  ${purposes(`'agent_image', 'assignment', 'post', 'avatar'`)}
  CREATE UNIQUE INDEX "media_avatar" ON "media" ("owner_id") WHERE purpose = 'avatar' AND status = 'ready' AND removed_at IS NULL;
  ALTER TABLE "students" ADD "avatar_key" text;
  ALTER TABLE "students" DROP COLUMN "avatar_url";
`;

const down = `
  ALTER TABLE "students" ADD "avatar_url" text;
  ALTER TABLE "students" DROP COLUMN "avatar_key";
  DELETE FROM "media" WHERE purpose = 'avatar';
  DROP INDEX "media_avatar";
  ${purposes(`'agent_image', 'assignment', 'post'`)}
`;

export class Avatars1795414000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
