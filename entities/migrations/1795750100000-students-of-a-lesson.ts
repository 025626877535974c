/**
 * Students who have completed a lesson, by id, so that a run pages through them. Made while the service runs; an index that an
 * interrupted run left unfinished is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StudentsOfALesson1795750100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY refuses one. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // it waits for others, and nobody for it
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
