/**
 * Supports subtitles that a command makes: stores who made a track, and which tracks are still to be made. A track that a command made
 * never replaces an uploaded track.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "media_tracks" ADD "made_by" text NOT NULL DEFAULT 'upload';
  ALTER TABLE "media_tracks" ADD CONSTRAINT "media_tracks_made_by" CHECK (made_by in ('upload', 'command')) NOT VALID;
  ALTER TABLE "media_tracks" VALIDATE CONSTRAINT "media_tracks_made_by";
  CREATE FUNCTION "media_track_keeps_upload"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'An uploaded track is not replaced by one that a command has made' USING ERRCODE = 'check_violation', CONSTRAINT = 'media_tracks_upload_stays';
  END $$;
  CREATE TRIGGER "media_tracks_upload_stays" BEFORE UPDATE ON "media_tracks"
    FOR EACH ROW WHEN (OLD.made_by = 'upload' AND NEW.made_by <> 'upload') EXECUTE FUNCTION "media_track_keeps_upload"();
  CREATE TABLE "media_transcriptions" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "language" text NOT NULL,
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "attempts" integer NOT NULL DEFAULT '0',
    "error_code" text,
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "media_transcriptions_ended" CHECK ((error_code IS NULL) = (looks_at IS NOT NULL)),
    PRIMARY KEY ("id"),
    CONSTRAINT "FK_73ac3fce27a11feb4b6460a9f2d" FOREIGN KEY ("id") REFERENCES "media"("id") ON DELETE CASCADE
  );
  CREATE INDEX "media_transcriptions_looks_at" ON "media_transcriptions" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE FUNCTION "media_transcription_ends"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM media_transcriptions WHERE id = NEW.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_removed_transcription" AFTER UPDATE OF removed_at ON "media"
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION "media_transcription_ends"();
`;
const down = `
  DROP TRIGGER "media_removed_transcription" ON "media";
  DROP FUNCTION "media_transcription_ends";
  DROP TABLE "media_transcriptions";
  DROP TRIGGER "media_tracks_upload_stays" ON "media_tracks";
  DROP FUNCTION "media_track_keeps_upload";
  ALTER TABLE "media_tracks" DROP COLUMN "made_by";
`;

export class MediaTranscriptions1795763000200 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
