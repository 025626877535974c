/** What each club stores: counted from the rows of its files by triggers, and held by reservations (MED-20, MED-21). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of a row of `media`: its original is complete and the bucket has not erased it. */
const isStored = (row: string) =>
  `(${row}.size_bytes IS NOT NULL AND ${row}.object_key IS NOT NULL AND ${row}.erased_at IS NULL)`;
/** Of a row of `media`: its file may still arrive, or its size is not settled yet. */
const isOpen = (row: string) =>
  `(${row}.size_bytes IS NULL AND ${row}.removed_at IS NULL AND ${row}.status IN ('uploading', 'processing'))`;
const bytesOf = (row: string) => `CASE WHEN ${isStored(row)} THEN ${row}.size_bytes ELSE 0 END`;
const filesOf = (row: string) => `${isStored(row)}::int`;
const heldOf = (row: string) => `CASE WHEN ${isOpen(row)} THEN coalesce(${row}.held_bytes, 0) ELSE 0 END`;
const counted = (row: string) => `${bytesOf(row)}, ${filesOf(row)}, ${heldOf(row)}`;

/** The sums of a statement's rows, whose names are those of the transition table. */
const sumsOf = (rows: string, sign: '' | '-') => `
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
    SELECT club_id, kind, ${sign}sum(${bytesOf(rows)}), ${sign}sum(${filesOf(rows)}), ${sign}sum(${heldOf(rows)})
      FROM ${rows} GROUP BY club_id, kind HAVING bool_or(${isStored(rows)} OR ${heldOf(rows)} > 0);`;

/**
 * Triggers count, so that no writer can forget it. They only add changes, and wait for nobody; an addition has locked the
 * club's storage before (domain/media/storage.ts), and that makes the last byte one person's.
 */
const triggers = `
  CREATE FUNCTION "media_added"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN ${sumsOf('added', '')}
    RETURN NULL;
  END $$;
  CREATE FUNCTION "media_deleted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN ${sumsOf('deleted', '-')}
    RETURN NULL;
  END $$;
  CREATE FUNCTION "media_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
    SELECT club_id, kind, sum(bytes), sum(files), sum(held)
      FROM (VALUES (OLD.club_id, OLD.kind, -(${bytesOf('OLD')}), -(${filesOf('OLD')}), -(${heldOf('OLD')})),
                   (NEW.club_id, NEW.kind, ${counted('NEW')})) AS changed (club_id, kind, bytes, files, held)
     GROUP BY club_id, kind HAVING (sum(bytes), sum(files), sum(held)) <> (0, 0, 0);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_counted_in" AFTER INSERT ON "media"
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "media_added"();
  CREATE TRIGGER "media_counted_out" AFTER DELETE ON "media"
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION "media_deleted"();
  CREATE TRIGGER "media_recounted"
    AFTER UPDATE OF club_id, kind, status, size_bytes, held_bytes, object_key, erased_at, removed_at ON "media"
    FOR EACH ROW WHEN ((OLD.club_id, OLD.kind, ${counted('OLD')}) IS DISTINCT FROM (NEW.club_id, NEW.kind, ${counted('NEW')}))
    EXECUTE FUNCTION "media_changed"();
`;

/** What was erased while its upload was still open keeps its key for a day, to be erased once more then (DEC-54). */
const wasErased = `erases_at = upload_expires_at + interval '24 hours' AND (removed_at IS NOT NULL OR status = 'failed')`;

const up = `
  ALTER TABLE "media" ADD "held_bytes" bigint;
  ALTER TABLE "media" ADD "erased_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "media" ADD CONSTRAINT "media_held" CHECK (held_bytes >= 0);
  CREATE TABLE "club_storage" (
    "club_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "bytes" bigint NOT NULL DEFAULT '0',
    "files" bigint NOT NULL DEFAULT '0',
    "held" bigint NOT NULL DEFAULT '0',
    CONSTRAINT "club_storage_kind" CHECK (kind in ('video', 'audio', 'image', 'document')),
    CONSTRAINT "PK_9410ee20197da8a7dd58d5e9af5" PRIMARY KEY ("club_id", "kind")
  );
  CREATE TABLE "club_storage_changes" (
    "club_id" uuid NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "kind" text NOT NULL,
    "bytes" bigint NOT NULL,
    "files" bigint NOT NULL,
    "held" bigint NOT NULL,
    CONSTRAINT "club_storage_changes_kind" CHECK (kind in ('video', 'audio', 'image', 'document')),
    CONSTRAINT "PK_3ccdbe8ba908b1e3bd22a0744c8" PRIMARY KEY ("club_id", "seq")
  );
  ${triggers}
  -- After the triggers, whose creation keeps writers out until the commit.
  UPDATE "media" SET erased_at = updated_at WHERE object_key IS NOT NULL AND ${wasErased};
  DELETE FROM "club_storage_changes";
  INSERT INTO "club_storage" (club_id, kind, bytes, files)
  SELECT club_id, kind, sum(size_bytes), count(*) FROM "media" WHERE ${isStored('media')} GROUP BY club_id, kind;
`;

const down = `
  DROP TRIGGER "media_recounted" ON "media";
  DROP TRIGGER "media_counted_out" ON "media";
  DROP TRIGGER "media_counted_in" ON "media";
  DROP FUNCTION "media_changed";
  DROP FUNCTION "media_deleted";
  DROP FUNCTION "media_added";
  DROP TABLE "club_storage_changes";
  DROP TABLE "club_storage";
  ALTER TABLE "media" DROP CONSTRAINT "media_held";
  ALTER TABLE "media" DROP COLUMN "erased_at";
  ALTER TABLE "media" DROP COLUMN "held_bytes";
`;

export class ClubStorage1795374100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
