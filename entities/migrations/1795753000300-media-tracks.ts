/**
 * Stores the subtitles of videos and sounds. Their objects are erased an hour after the row is deleted or replaced, or after its file is
 * removed, because signed addresses are valid until then.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "media_tracks" (
    "media_id" uuid NOT NULL,
    "language" text NOT NULL,
    "club_id" uuid NOT NULL,
    "label" text NOT NULL,
    "kind" text NOT NULL,
    "object_key" text NOT NULL,
    "size_bytes" integer NOT NULL,
    "created_at" timestamptz NOT NULL,
    "updated_at" timestamptz NOT NULL,
    CONSTRAINT "media_tracks_kind" CHECK (kind in ('subtitles', 'captions')),
    CONSTRAINT "PK_e36f34b7f7e3eaf645e4fbe7601" PRIMARY KEY ("media_id", "language"),
    CONSTRAINT "FK_e005310cad48f54a987867fc4d6" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE
  );
  CREATE FUNCTION "media_track_left"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO leftover_objects (object_key, club_id, erases_at) VALUES (OLD.object_key, OLD.club_id, now() + interval '1 hour')
      ON CONFLICT (object_key) DO NOTHING;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_track_removed" AFTER DELETE ON "media_tracks"
    FOR EACH ROW EXECUTE FUNCTION "media_track_left"();
  CREATE TRIGGER "media_track_replaced" AFTER UPDATE OF object_key ON "media_tracks"
    FOR EACH ROW WHEN (OLD.object_key <> NEW.object_key) EXECUTE FUNCTION "media_track_left"();
  CREATE FUNCTION "media_tracks_end"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM media_tracks WHERE media_id = NEW.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_removed_tracks" AFTER UPDATE OF removed_at ON "media"
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION "media_tracks_end"();
`;
const down = `
  DROP TRIGGER "media_removed_tracks" ON "media";
  DROP FUNCTION "media_tracks_end";
  DROP TABLE "media_tracks";
  DROP FUNCTION "media_track_left";
`;

export class MediaTracks1795753000300 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
