/** Adds the time at which OCR is to be tried for the scanned pages of a source. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OcrOfSources1795763000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "agent_sources" ADD "ocr_due_at" TIMESTAMP WITH TIME ZONE`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "agent_sources" DROP COLUMN "ocr_due_at"`);
  }
}
