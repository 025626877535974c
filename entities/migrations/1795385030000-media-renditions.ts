/** Previews and thumbnails of files (MED-22). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MediaRenditions1795385030000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "media_renditions" (
        "media_id" uuid NOT NULL,
        "version" smallint NOT NULL,
        "role" text NOT NULL,
        "object_key" text NOT NULL,
        "mime" text NOT NULL,
        "size_bytes" bigint NOT NULL,
        "width" integer NOT NULL,
        "height" integer NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "media_renditions_role" CHECK (role in ('preview', 'thumbnail')),
        CONSTRAINT "PK_ec59dd8c5d954763ca2abb18758" PRIMARY KEY ("media_id", "version", "role"),
        CONSTRAINT "FK_b374af0bf18ee063b0bc5e32da2" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "media_renditions"`);
  }
}
