/** Resumable uploads that are open (MED-26). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MediaUploads1795388500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "media_uploads" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "multipart_id" text,
        "fence" integer NOT NULL DEFAULT 0,
        "lease_until" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "PK_af36cb16c5cc7d6bab1f6d4d289" PRIMARY KEY ("id"),
        CONSTRAINT "FK_af36cb16c5cc7d6bab1f6d4d289" FOREIGN KEY ("id") REFERENCES "media"("id") ON DELETE CASCADE
      );
      CREATE INDEX "media_uploads_club" ON "media_uploads" ("club_id")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "media_uploads"`);
  }
}
