/** Indexes the sessions of a club by their last change (CUR-9). The index is made while the service runs. A repeated run makes it again. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ChangedSessions1795778000600 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "mentorship_sessions_changed"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "mentorship_sessions_changed" ON "mentorship_sessions" ("club_id", "changed_at")`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "mentorship_sessions_changed"`);
  }
}
