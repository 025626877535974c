/**
 * The address of an upload can outlive the file. Until the address ends, the club's storage reserves the bytes that may still arrive
 * there (MED-21).
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whether `media_recounted` already counts the bytes of a row of `media`: as a stored file, or as an upload that reserves its bytes. The
 * bytes of its upload address are then not counted.
 */
const isCounted = (row: string) =>
  `(${row}.size_bytes IS NOT NULL AND ${row}.erased_at IS NULL
    OR ${row}.size_bytes IS NULL AND ${row}.removed_at IS NULL AND ${row}.status IN ('uploading', 'processing'))`;
/**
 * The bytes that may still arrive. Erasure clears `address_bytes` after the address has ended. Rows of older processes have no
 * `address_bytes`.
 */
const lateOf = (row: string) =>
  `(CASE WHEN ${row}.object_key IS NOT NULL AND NOT ${isCounted(row)} THEN coalesce(${row}.address_bytes, 0) ELSE 0 END)`;

const added = (row: string, bytes: string) => `
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held) VALUES (${row}.club_id, ${row}.kind, 0, 0, ${bytes});`;

const up = `
  ALTER TABLE "media" ADD "address_bytes" bigint;
  CREATE FUNCTION "media_late_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' AND ${lateOf('OLD')} > 0 THEN ${added('OLD', `-(${lateOf('OLD')})`)}
    END IF;
    IF TG_OP <> 'DELETE' AND ${lateOf('NEW')} > 0 THEN ${added('NEW', lateOf('NEW'))}
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "media_late_in" AFTER INSERT ON "media"
    FOR EACH ROW WHEN (NEW.address_bytes IS NOT NULL) EXECUTE FUNCTION "media_late_changed"();
  CREATE TRIGGER "media_late_out" AFTER DELETE ON "media"
    FOR EACH ROW WHEN (OLD.address_bytes IS NOT NULL) EXECUTE FUNCTION "media_late_changed"();
  CREATE TRIGGER "media_late_recounted"
    AFTER UPDATE OF club_id, kind, status, size_bytes, address_bytes, object_key, erased_at, removed_at ON "media"
    FOR EACH ROW WHEN ((OLD.club_id, OLD.kind, ${lateOf('OLD')}) IS DISTINCT FROM (NEW.club_id, NEW.kind, ${lateOf('NEW')}))
    EXECUTE FUNCTION "media_late_changed"();
`;

const down = `
  DROP TRIGGER "media_late_recounted" ON "media";
  DROP TRIGGER "media_late_out" ON "media";
  DROP TRIGGER "media_late_in" ON "media";
  INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
  SELECT club_id, kind, 0, 0, -sum(${lateOf('media')}) FROM "media"
   WHERE address_bytes IS NOT NULL GROUP BY club_id, kind HAVING sum(${lateOf('media')}) > 0;
  DROP FUNCTION "media_late_changed";
  ALTER TABLE "media" DROP COLUMN "address_bytes";
`;

export class AddressesOfGoneFiles1795743000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
