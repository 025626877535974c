/**
 * Adds an index to each foreign key whose parent the erasure of a club deletes. Without it, Postgres would read the whole child table for
 * each deleted row. The indexes are made while the service runs. An unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const indexes = {
  agent_conversations_all_of_agent: `"agent_conversations" ("agent_id")`,
  agent_conversations_all_of_student: `"agent_conversations" ("student_id")`,
  assignments_club: `"assignments" ("club_id")`,
  club_sign_in_rules_provider: `"club_sign_in_rules" ("required_provider_id") WHERE required_provider_id IS NOT NULL`,
  community_comments_all_of_post: `"community_comments" ("post_id")`,
  community_posts_all_of_space: `"community_posts" ("space_id")`,
  community_reactions_club: `"community_reactions" ("club_id")`,
  course_completion_looks_club: `"course_completion_looks" ("club_id")`,
  idempotency_keys_club: `"idempotency_keys" ("club_id") WHERE club_id IS NOT NULL`,
  levels_club: `"levels" ("club_id")`,
  media_all_of_club: `"media" ("club_id")`,
  repositories_cover: `"repositories" ("cover_media_id") WHERE cover_media_id IS NOT NULL`,
  student_import_addresses_student: `"student_import_addresses" ("student_id")`,
  tags_club: `"tags" ("club_id")`,
  test_mails_all_of_club: `"test_mails" ("club_id")`,
  transactional_mails_club: `"transactional_mails" ("club_id") WHERE club_id IS NOT NULL`,
} as const;

export class IndexesForErasures1795786200100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // an index waits for transactions, but no transaction waits for the index
    for (const [name, columns] of Object.entries(indexes)) {
      await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
      await queryRunner.query(`CREATE INDEX CONCURRENTLY "${name}" ON ${columns}`);
    }
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const name of Object.keys(indexes)) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
