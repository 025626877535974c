/**
 * A club's storage: the bytes of its files and of open reservations, and the limit of its plan. Triggers on `media` count the bytes of the
 * originals, so that no code can forget to count them. For a row of `media`, they count:
 * - `held_bytes` from the reservation until the size is settled, or until the file fails or is removed;
 * - `address_bytes` if the file is gone and the signed address of the upload may still be valid (MED-29);
 * - `size_bytes` after the size is settled, until `erased_at` shows that the bucket has erased the file (MED-20).
 *
 * A transaction that adds bytes locks the club's storage first. A transaction that removes bytes needs no lock, because it only appends a
 * row to `club_storage_changes`.
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

/** A club's storage, as a transaction reads it while it holds the storage's lock. In bytes. */
interface LockedStorage {
  storedBytes: number;
  reservedBytes: number;
  limit: number;
  overage: 'billed' | 'refused';
  /** The number of changes that were added to the totals. */
  changes: number;
}

/**
 * A club's storage has one row for each kind of file. To lock the whole storage, a transaction locks only the row of this kind, for files
 * of every kind.
 */
const [lockedKind] = mediaKinds;

/**
 * Locks the club's storage until the transaction ends, and adds the pending changes to the totals. Take this lock after the locks of
 * students and files, and before the lock of the club (docs/explanation/architecture.md#locks).
 */
async function lockStorage(tx: Transaction, clubId: Id): Promise<LockedStorage> {
  // The lock needs a separate statement. Only then does the next statement see the changes of the transaction that held the lock before.
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
  if (!row) throw new Error(`The sum of the storage of club ${clubId} returned no row`);
  return {
    storedBytes: Number(row.stored),
    reservedBytes: Number(row.held),
    changes: row.changes,
    ...limitOf(row, 'storage_bytes'),
  };
}

/**
 * Requires room for an announced file. The lock on the storage keeps two reservations from taking the same bytes. The caller inserts the
 * file's row with `bytes` as `heldBytes` in this transaction. These bytes count until the size of the arrived file is recorded, or until
 * the file fails, expires or is removed.
 *
 * The caller may hold locks of the student and of files, but not of the club's row.
 * @param bytes the announced size, or the `Upload-Length` of a resumable upload; 0 if the size is unknown. If the size is unknown, one free
 * byte is enough
 * @param addressee the kind of person who reads the refusal. A refusal for a student says nothing about the plan (AUTH-10)
 * @throws DomainError limit_reached, if the plan does not bill overage
 */
export async function reserveStorage(tx: Transaction, clubId: Id, bytes: number, addressee: Addressee): Promise<void> {
  const { storedBytes, reservedBytes, limit, overage } = await lockStorage(tx, clubId);
  if (overage === 'billed' || storedBytes + reservedBytes + Math.max(1, bytes) <= limit) return;
  throw addressee === 'person'
    ? new RefusalToPerson('limit_reached', 'refusal.no_room_for_files')
    : new DomainError('limit_reached', "The plan's allowance of storage is used up.");
}

/**
 * Admits an uploaded file of this size. Only bytes beyond its reservation need more room. If the plan bills overage, it is recorded, and no
 * file is refused (BILL-7).
 *
 * Locks the club's storage. The caller holds the lock of the file's row, but not the lock of the club's row. The caller then sets the row's
 * `size_bytes`, which replaces the held bytes. The caller must change the row in only one UPDATE. A second UPDATE would check the foreign
 * key to the student again, and would wait for a removal of that student. This removal waits for the file, so the two transactions would
 * deadlock (docs/explanation/architecture.md#locks).
 * @param sizeBytes the size that the bucket reports
 * @returns false without room. The caller then records the file as failed (`storage_full`), without a size
 */
export async function admitFile(
  tx: Transaction,
  { id, clubId }: { id: Id; clubId: Id },
  sizeBytes: number,
  now: Date,
): Promise<boolean> {
  const { storedBytes, reservedBytes, limit, overage } = await lockStorage(tx, clubId);
  const file = await tx.one<{ before: string; own: string }>(sql`
    SELECT coalesce(size_bytes, 0) AS before, coalesce(size_bytes, held_bytes, 0) AS own FROM media WHERE id = ${id}`);
  if (!file) throw new Error(`File ${id} was deleted although the transaction holds its lock`);
  const more = sizeBytes - Number(file.own);
  if (more > 0 && overage === 'refused' && storedBytes + reservedBytes + more > limit) return false;
  if (overage === 'billed')
    await recordOverage(tx, clubId, 'storage_bytes', storedBytes - Number(file.before) + sizeBytes - limit, now);
  return true;
}

/** The changes that a round of upkeep reads, in a few milliseconds for each club. */
const changesPerRound = 500;

/**
 * Adds the pending changes to the totals of clubs that add no files, so that reading a club's storage stays fast.
 * @returns the number of changes, and whether more changes may exist
 */
export async function rollUpStorage(db: Database): Promise<{ changes: number; more: boolean }> {
  const clubs = await db.rows<{ clubId: Id }>(sql`
    SELECT DISTINCT club_id AS "clubId" FROM (SELECT club_id FROM club_storage_changes LIMIT ${changesPerRound}) AS changed`);
  let changes = 0;
  for (const { clubId } of clubs) changes += (await db.transaction((tx) => lockStorage(tx, clubId))).changes;
  return { changes, more: changes >= changesPerRound };
}

/** @returns the bytes of the club's files by kind, and the limit of its plan and add-ons (MED-13) */
export async function readStorageUsage(db: Queries, clubId: Id): Promise<RecordOf<'StorageUsage'>> {
  const row = await db.one<Terms & { kinds: { kind: MediaKind; bytes: number; files: number }[] | null }>(sql`
    SELECT ${termsOf(clubId, 'storage')},
           (SELECT jsonb_agg(jsonb_build_object('kind', kind, 'bytes', bytes, 'files', files)) FROM (
              SELECT kind, sum(bytes) AS bytes, sum(files) AS files FROM (
                SELECT kind, bytes, files FROM club_storage WHERE club_id = ${clubId}
                UNION ALL SELECT kind, bytes, files FROM club_storage_changes WHERE club_id = ${clubId}) AS parts
               GROUP BY kind HAVING sum(files) > 0) AS sums) AS kinds`);
  if (!row) throw new Error(`The storage usage of club ${clubId} returned no row`);
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
