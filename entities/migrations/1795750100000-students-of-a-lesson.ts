/**
 * Indexes the students who have completed a lesson by id, so that a run can read them page by page. The index is made while the service
 * runs. An unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StudentsOfALesson1795750100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "lesson_progress_completed"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "lesson_progress_completed" ON "lesson_progress" ("lesson_id", "student_id") WHERE completed`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "lesson_progress_completed"`);
  }
}
