/**
 * Indexes the sources that wait for OCR. The index is made while the service runs. An unfinished index of an interrupted run is made
 * again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SourcesByOcr1795763000100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "agent_sources_ocr"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "agent_sources_ocr" ON "agent_sources" ("ocr_due_at") WHERE ocr_due_at IS NOT NULL AND looks_at IS NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "agent_sources_ocr"`);
  }
}
