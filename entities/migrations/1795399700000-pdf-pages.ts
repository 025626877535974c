/** PDFs that were processed before their first page was drawn get it later (MED-22). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PdfPages1795399700000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      UPDATE media SET renditions_due_at = processed_at
       WHERE mime = 'application/pdf' AND purpose = 'library' AND status = 'ready' AND removed_at IS NULL AND object_key IS NOT NULL
         AND processed_at IS NOT NULL AND NOT EXISTS (SELECT FROM media_renditions made WHERE made.media_id = media.id)`);
  }

  async down(): Promise<void> {
    // What is due is drawn, or not: both versions deliver it.
  }
}
