/** Files that become public and private again: what moves, and what a move leaves (MED-25, MED-27). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MediaMoves1795389477000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "media"
        ADD CONSTRAINT "media_published" CHECK (visibility = 'private' OR purpose = 'library'),
        ADD CONSTRAINT "media_bucket" CHECK (object_key IS NULL OR (object_key LIKE 'public/%') = (visibility = 'public'));
      CREATE TABLE "media_moves" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "visibility" text NOT NULL,
        "target_key" text,
        "looks_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "fence" integer NOT NULL DEFAULT '0',
        "lease_until" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "media_moves_visibility" CHECK (visibility in ('private', 'public')),
        PRIMARY KEY ("id"),
        CONSTRAINT "FK_5abc24e0a45356e4e8875e73e45" FOREIGN KEY ("id") REFERENCES "media"("id") ON DELETE CASCADE
      );
      CREATE INDEX "media_moves_looks_at" ON "media_moves" ("looks_at");
      CREATE TABLE "leftover_objects" (
        "object_key" text NOT NULL,
        "club_id" uuid NOT NULL,
        "erases_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "arrives_until" TIMESTAMP WITH TIME ZONE,
        PRIMARY KEY ("object_key")
      );
      CREATE INDEX "leftover_objects_erases_at" ON "leftover_objects" ("erases_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "leftover_objects"`);
    await queryRunner.query(`DROP TABLE "media_moves"`);
    await queryRunner.query(`ALTER TABLE "media" DROP CONSTRAINT "media_bucket", DROP CONSTRAINT "media_published"`);
  }
}
