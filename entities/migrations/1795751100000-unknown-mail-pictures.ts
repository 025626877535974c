/**
 * Indexes the images for which no row says whether they have a picture for e-mails. Upkeep starts the processing of these images (DEC-157).
 * The
 * index is made while the service runs. An unfinished index of an interrupted run is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class UnknownMailPictures1795751100000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the index waits for transactions, but no transaction waits for the index
    await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "media_mail_picture_unknown"`);
    await queryRunner.query(
      `CREATE INDEX CONCURRENTLY "media_mail_picture_unknown" ON "media" ("id")
        WHERE mail_picture IS NULL AND purpose = 'library' AND kind = 'image' AND status = 'ready' AND processed_at IS NOT NULL AND object_key IS NOT NULL AND removed_at IS NULL`,
    );
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "media_mail_picture_unknown"`);
  }
}
