/** Sources that wait for OCR. Made while the service runs; an index that an interrupted run left unfinished is made again. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SourcesByOcr1795763000100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY refuses one. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // it waits for others, and nobody for it
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
