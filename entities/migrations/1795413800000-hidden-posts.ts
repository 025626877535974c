/** The indexes by which a student's own hidden posts and comments are counted, however many others the student has written. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE INDEX "community_posts_hidden" ON "community_posts" ("student_id", "space_id") WHERE hidden_at IS NOT NULL AND state <> 'deleted';
  CREATE INDEX "community_comments_hidden" ON "community_comments" ("student_id", "post_id") WHERE hidden_at IS NOT NULL AND state <> 'deleted';
`;

const down = `
  DROP INDEX "community_comments_hidden";
  DROP INDEX "community_posts_hidden";
`;

export class HiddenPosts1795413800000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
