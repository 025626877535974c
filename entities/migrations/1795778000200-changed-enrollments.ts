/** Indexes the enrollments of a club by their last change (CUR-9). The index is made while the service runs. A repeated run makes it again. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ChangedEnrollments1795778000200 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "enrollments_changed"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "enrollments_changed" ON "enrollments" ("club_id", "changed_at")`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "enrollments_changed"`);
  }
}
