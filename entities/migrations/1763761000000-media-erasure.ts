/** When the file of a media row must be erased from the bucket: one moment in place of two conditions. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  DROP INDEX "media_to_erase";
  DROP INDEX "media_unfinished";
  ALTER TABLE "media" ADD "erases_at" TIMESTAMP WITH TIME ZONE;
  CREATE INDEX "media_erases_at" ON "media"  ("erases_at") WHERE erases_at IS NOT NULL;
  ALTER TABLE "media" ADD CONSTRAINT "media_erased" CHECK (erases_at IS NULL OR object_key IS NOT NULL);
`;

const down = `
  ALTER TABLE "media" DROP CONSTRAINT "media_erased";
  DROP INDEX "media_erases_at";
  ALTER TABLE "media" DROP COLUMN "erases_at";
  CREATE INDEX "media_unfinished" ON "media" USING btree ("upload_expires_at") WHERE (status = 'uploading'::text);
  CREATE INDEX "media_to_erase" ON "media" USING btree ("removed_at") WHERE ((removed_at IS NOT NULL) AND (object_key IS NOT NULL));
`;

export class MediaErasure1763761000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
