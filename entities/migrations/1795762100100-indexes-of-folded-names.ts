/**
 * Indexes the trigrams of folded names, and the rows whose names are older than the trigger. Upkeep folds these names. The indexes are
 * made while the service runs. An unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const unfolded = (name: string) => `${name}_folded IS NULL AND searched_spelling(${name}) <> lower(${name})`;
const names = (table: string) => `"${table}" ("id") WHERE`;
/** New entries of a trigram index first wait in a list. Every search must read the whole list, so the list is kept short. */
const trigrams = (table: string, column: string) =>
  `"${table}" USING gin ("${column}" gin_trgm_ops) WITH (gin_pending_list_limit = 256) WHERE "${column}" IS NOT NULL`;

const indexes = {
  students_name_folded: trigrams('students', 'name_folded'),
  students_to_fold: `${names('students')} ${unfolded('name')}`,
  certificates_student_name_folded: trigrams('certificates', 'student_name_folded'),
  certificates_to_fold: `${names('certificates')} ${unfolded('student_name')}`,
  media_title_folded: trigrams('media', 'title_folded'),
  media_file_name_folded: trigrams('media', 'file_name_folded'),
  media_to_fold: `${names('media')} (${unfolded('title')}) OR (${unfolded('file_name')})`,
} as const;

export class IndexesOfFoldedNames1795762100100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    for (const [name, definition] of Object.entries(indexes)) {
      await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
      await queryRunner.query(`CREATE INDEX CONCURRENTLY "${name}" ON ${definition}`);
    }
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const name of Object.keys(indexes)) await queryRunner.query(`DROP INDEX "${name}"`);
  }
}
