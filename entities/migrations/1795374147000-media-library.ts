/** The library's record, folders, favorites, and the places that use its files (MED-14, MED-15). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const type = `CASE WHEN provider IN ('videosite1', 'videosite2', 'external') THEN 'embed' WHEN provider IN ('hostedvideo_stream', 'protectedvideo') THEN 'video' WHEN kind <> 'document' THEN kind WHEN mime = 'application/pdf' OR (coalesce(mime, 'application/octet-stream') = 'application/octet-stream' AND lower(right(file_name, 4)) = '.pdf') THEN 'pdf' ELSE 'file' END`;

const up = `
  CREATE TABLE "media_folders" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "parent_id" uuid,
    "name" text NOT NULL,
    "folded_name" text NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "media_folders_parent" CHECK (parent_id <> id),
    CONSTRAINT "PK_219645188a391081a10cd4004ce" PRIMARY KEY ("id")
  );
  CREATE INDEX "media_folders_club" ON "media_folders" ("club_id", "folded_name", "id");
  CREATE UNIQUE INDEX "media_folders_name" ON "media_folders" ("parent_id", "folded_name") WHERE parent_id IS NOT NULL;
  CREATE UNIQUE INDEX "media_folders_top_name" ON "media_folders" ("club_id", "folded_name") WHERE parent_id IS NULL;
  CREATE TABLE "media_favorites" (
    "administrator_id" uuid NOT NULL,
    "media_id" uuid NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_5f536a1b71eaee20e4fa50894bc" PRIMARY KEY ("administrator_id", "media_id")
  );
  CREATE INDEX "media_favorites_media" ON "media_favorites" ("media_id");
  CREATE TABLE "media_uses" (
    "media_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "place_id" uuid NOT NULL,
    CONSTRAINT "media_uses_kind" CHECK (kind in ('lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version')),
    CONSTRAINT "PK_76c9e3b26c4ce0a31b09b5dbfca" PRIMARY KEY ("media_id", "kind", "place_id")
  );
  CREATE INDEX "media_uses_place" ON "media_uses" ("kind", "place_id");
  -- TypeORM has made this table, and looks up the expression of a generated column there.
  INSERT INTO "typeorm_metadata" VALUES
    ('GENERATED_COLUMN', current_database(), current_schema(), 'media', 'type', $type$${type}$type$);
  ALTER TABLE "media"
    DROP CONSTRAINT "media_provider",
    ADD "external_id" text,
    ADD "folder_id" uuid,
    ADD "expires_at" TIMESTAMP WITH TIME ZONE,
    ADD "type" text GENERATED ALWAYS AS (${type}) STORED,
    ADD CONSTRAINT "media_provider" CHECK (provider in ('hostedvideo_stream', 'objstore', 'videosite1', 'videosite2', 'external', 'protectedvideo')),
    ADD CONSTRAINT "media_reference" CHECK ((external_id IS NOT NULL) = (provider in ('videosite1', 'videosite2', 'external', 'protectedvideo'))),
    ADD CONSTRAINT "media_reference_stored" CHECK (external_id IS NULL OR (purpose = 'library' AND object_key IS NULL));
  CREATE INDEX "media_folder" ON "media" ("folder_id") WHERE folder_id IS NOT NULL;
  ALTER TABLE "media_folders" ADD CONSTRAINT "FK_db899c7f4153b2c733c1a713f53" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media_folders" ADD CONSTRAINT "FK_43ff389c80b4187ad60b4d5deb3" FOREIGN KEY ("parent_id") REFERENCES "media_folders"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "media" ADD CONSTRAINT "FK_e4f16e3dcba4e4995197e36e707" FOREIGN KEY ("folder_id") REFERENCES "media_folders"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "media_favorites" ADD CONSTRAINT "FK_6ef99d4442aa5c6ae5324c0e830" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media_favorites" ADD CONSTRAINT "FK_9aa758778407040069ac51eaebf" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media_uses" ADD CONSTRAINT "FK_e56a42647466e8bbf96b5ec121f" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  INSERT INTO "media_uses" (media_id, kind, place_id)
  SELECT media_id, 'agent', agent_id FROM "agent_materials" WHERE media_id IN (SELECT id FROM "media" WHERE removed_at IS NULL);
`;

const down = `
  ALTER TABLE "media" DROP CONSTRAINT "FK_e4f16e3dcba4e4995197e36e707";
  DROP INDEX "media_folder";
  DELETE FROM "media" WHERE provider <> 'objstore';
  ALTER TABLE "media"
    DROP CONSTRAINT "media_reference_stored",
    DROP CONSTRAINT "media_reference",
    DROP CONSTRAINT "media_provider",
    DROP COLUMN "type",
    DROP COLUMN "expires_at",
    DROP COLUMN "folder_id",
    DROP COLUMN "external_id",
    ADD CONSTRAINT "media_provider" CHECK (provider = 'objstore');
  DELETE FROM "typeorm_metadata" WHERE "table" = 'media' AND "name" = 'type';
  DROP TABLE "media_uses";
  DROP TABLE "media_favorites";
  DROP TABLE "media_folders";
`;

export class MediaLibrary1795374147000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
