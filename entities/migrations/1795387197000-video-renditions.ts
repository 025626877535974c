/** Renditions of videos, and files whose renditions are due later (MED-22, MED-24). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class VideoRenditions1795387197000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "media_renditions"
        DROP CONSTRAINT "media_renditions_role",
        ADD CONSTRAINT "media_renditions_role" CHECK (role in ('preview', 'thumbnail', 'video'))`);
    await queryRunner.query(`ALTER TABLE "media" ADD "renditions_due_at" TIMESTAMP WITH TIME ZONE`);
    await queryRunner.query(
      `CREATE INDEX "media_renditions_due" ON "media" ("renditions_due_at") WHERE renditions_due_at IS NOT NULL AND removed_at IS NULL`,
    );
    // Images that were processed before renditions were made get theirs.
    await queryRunner.query(`
      UPDATE media SET renditions_due_at = processed_at
       WHERE purpose = 'library' AND kind = 'image' AND status = 'ready' AND object_key IS NOT NULL AND removed_at IS NULL
         AND processed_at IS NOT NULL AND NOT EXISTS (SELECT FROM media_renditions made WHERE made.media_id = media.id)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "media_renditions_due"`);
    await queryRunner.query(`ALTER TABLE "media" DROP COLUMN "renditions_due_at"`);
    await queryRunner.query(`DELETE FROM "media_renditions" WHERE role = 'video'`);
    await queryRunner.query(`
      ALTER TABLE "media_renditions"
        DROP CONSTRAINT "media_renditions_role",
        ADD CONSTRAINT "media_renditions_role" CHECK (role in ('preview', 'thumbnail'))`);
  }
}
