/**
 * A club's storage: what its files take, what open reservations hold, and how much its plan allows. The originals are counted by
 * triggers on `media`, from what the rows say, so that no writer can forget it:
 * - a row holds its `held_bytes` from its reservation until its size is settled, it fails, or it is removed;
 * - where the file is gone and the signed address of its upload may still be good, it holds its `address_bytes` (MED-29);
 * - it counts its `size_bytes` from then on, until `erased_at` says that the bucket has erased the file (MED-20).
 *
 * Who adds locks the club's storage first. A deduction is a change that is appended, and waits for nobody.
 */
import type { RecordOf } from '../../../contract/contract.ts';
import { mediaKinds, type MediaKind } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Addressee } from '../../billing/allowances.ts';
import { recordOverage } from '../../billing/overages.ts';
import { limitOf, termsOf, type Terms } from '../../billing/terms.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { DomainError } from '../../../platform/core/errors.ts';

/** A club's storage while the transaction holds it, in bytes. */
interface LockedStorage {
  /** Of files. */
  stored: number;
  /** Of open reservations. */
  held: number;
  limit: number;
  overage: 'billed' | 'refused';
  /** How many changes were rolled up. */
  changes: number;
}

/** The row of this kind stands for the club's storage: it is the one to lock, whatever the kind of the file. */
const [lockedKind] = mediaKinds;

/**
 * Locks the club's storage until the transaction ends, and rolls its changes up. In the order of locks it comes after students and
 * files, and before the club (docs/explanation/architecture.md#locks).
 */
async function lockStorage(tx: Transaction, clubId: Id): Promise<LockedStorage> {
  // A statement of its own: the next one then sees what the holder before has committed.
  await tx.run(sql`INSERT INTO club_storage AS storage (club_id, kind) VALUES (${clubId}, ${lockedKind})
     ON CONFLICT (club_id, kind) DO UPDATE SET bytes = storage.bytes`);
  const row = await tx.one<Terms & { stored: string; held: string; changes: number }>(sql`
    WITH folded AS (DELETE FROM club_storage_changes WHERE club_id = ${clubId} RETURNING kind, bytes, files, held),
    rolled_up AS (
      INSERT INTO club_storage AS storage (club_id, kind, bytes, files, held)
      SELECT ${clubId}, kind, sum(bytes), sum(files), sum(held) FROM folded GROUP BY kind
      ON CONFLICT (club_id, kind) DO UPDATE SET bytes = storage.bytes + excluded.bytes,
        files = storage.files + excluded.files, held = storage.held + excluded.held)
    SELECT coalesce(sum(bytes), 0) AS stored, coalesce(sum(held), 0) AS held, (SELECT count(*)::int FROM folded) AS changes,
           ${termsOf(clubId, 'storage')}
      FROM (SELECT bytes, held FROM club_storage WHERE club_id = ${clubId} UNION ALL SELECT bytes, held FROM folded) AS parts`);
  if (!row) throw new Error('A sum of no rows is a row');
  const { stored, held, changes } = row;
  return { stored: Number(stored), held: Number(held), changes, ...limitOf(row, 'storage_bytes') };
}

/**
 * Requires room for a file that is announced, and keeps it for the caller's transaction: of two reservations of the last byte one
 * waits. To be called in the transaction that inserts the row, whose `heldBytes` are the same number: from the commit on the row
 * holds them, and gives them back by itself when it is settled, fails, expires or is removed.
 *
 * Locks the club's storage. The caller may have locked the student and files; it must not have locked the club's row.
 * @param bytes that the file is announced to have: its size, or the `Upload-Length` of a resumable upload; 0 where nobody knows them
 *   yet, and then the storage must only not be full
 * @param addressee who reads the refusal: a student is told nothing of the plan (AUTH-10)
 * @throws DomainError limit_reached, where the plan does not bill overage
 */
export async function holdStorage(tx: Transaction, clubId: Id, bytes: number, addressee: Addressee): Promise<void> {
  const { stored, held, limit, overage } = await lockStorage(tx, clubId);
  if (overage === 'billed' || stored + held + Math.max(1, bytes) <= limit) return;
  throw addressee === 'person'
    ? new RefusalToPerson('limit_reached', 'refusal.no_room_for_files')
    : new DomainError('limit_reached', "The plan's allowance of storage is used up.");
}

/**
 * Admits a file that has arrived with this size: what its reservation holds is promised; only a larger file needs more room. Where the
 * plan bills overage it is recorded, and nothing is refused (BILL-7).
 *
 * Locks the club's storage. The caller has locked the file's row, and has not locked the club's. It sets the row's `size_bytes`, which
 * take the place of what it held, in the one statement that changes the row: another one after it would look the student up again whose
 * file it is, and wait for a removal of that student, which needs the file (docs/explanation/architecture.md#locks).
 * @param sizeBytes as the bucket measures it
 * @returns false where there is no room: the caller records the file as failed (`storage_full`), without a size
 */
export async function admitFile(
  tx: Transaction,
  { id, clubId }: { id: Id; clubId: Id },
  sizeBytes: number,
  now: Date,
): Promise<boolean> {
  const { stored, held, limit, overage } = await lockStorage(tx, clubId);
  const file = await tx.one<{ before: string; own: string }>(sql`
    SELECT coalesce(size_bytes, 0) AS before, coalesce(size_bytes, held_bytes, 0) AS own FROM media WHERE id = ${id}`);
  if (!file) throw new Error('A file vanished under the transaction that locks it');
  const more = sizeBytes - Number(file.own);
  if (more > 0 && overage === 'refused' && stored + held + more > limit) return false;
  if (overage === 'billed')
    await recordOverage(tx, clubId, 'storage_bytes', stored - Number(file.before) + sizeBytes - limit, now);
  return true;
}

/** Clubs whose changes a round of upkeep rolls up: a few milliseconds each. */
const clubsPerRound = 500;

/**
 * Rolls the changes of clubs up where no addition does, so that reading a storage stays cheap.
 * @returns how many, and whether there may be more
 */
export async function rollUpStorage(db: Database): Promise<{ changes: number; more: boolean }> {
  const clubs = await db.rows<{ clubId: Id }>(sql`
    SELECT DISTINCT club_id AS "clubId" FROM (SELECT club_id FROM club_storage_changes LIMIT ${clubsPerRound}) AS changed`);
  let changes = 0;
  for (const { clubId } of clubs) changes += (await db.transaction((tx) => lockStorage(tx, clubId))).changes;
  return { changes, more: changes >= clubsPerRound };
}

/** @returns what the club's files take, by kind, and what its plan and add-ons allow (MED-13) */
export async function readStorageUsage(db: Queries, clubId: Id): Promise<RecordOf<'StorageUsage'>> {
  const row = await db.one<Terms & { kinds: { kind: MediaKind; bytes: number; files: number }[] | null }>(sql`
    SELECT ${termsOf(clubId, 'storage')},
           (SELECT jsonb_agg(jsonb_build_object('kind', kind, 'bytes', bytes, 'files', files)) FROM (
              SELECT kind, sum(bytes) AS bytes, sum(files) AS files FROM (
                SELECT kind, bytes, files FROM club_storage WHERE club_id = ${clubId}
                UNION ALL SELECT kind, bytes, files FROM club_storage_changes WHERE club_id = ${clubId}) AS parts
               GROUP BY kind HAVING sum(files) > 0) AS sums) AS kinds`);
  if (!row) throw new Error('A statement of one row has one');
  const kinds = (row.kinds ?? []).toSorted(
    (one, other) => mediaKinds.indexOf(one.kind) - mediaKinds.indexOf(other.kind),
  );
  return {
    bytes: kinds.reduce((sum, { bytes }) => sum + bytes, 0),
    files: kinds.reduce((sum, { files }) => sum + files, 0),
    by_kind: kinds,
    limit_bytes: limitOf(row, 'storage_bytes').limit,
  };
}
