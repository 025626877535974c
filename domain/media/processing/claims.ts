/** Claims files for processing, and renews and releases these claims (ENG-2). */
import { Media } from '../../../entities/media/media.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { holdLease, LeaseLost, type HeldLease } from '../../../platform/engine/lease.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mediaColumns, type StoredMedia } from '../media.ts';
import { processingRules, waitAfterFault } from '../processing.policy.ts';

export interface FileClaim extends StoredMedia {
  ownerId: Id | null;
  /** The fencing token: a later claim has a higher token. */
  fence: number;
  /** The number of internal errors since the last successful step. If the process of an earlier claim died, that counts as an error. */
  faultCount: number;
  hasDigest: boolean;
  /** The version of the rules of the last complete examination. */
  examined: number;
}

const leaseSeconds = processingRules.leaseMs / 1_000;

/** @param now Unix milliseconds @returns undefined if the file is not due, or another worker holds its claim */
export function claimFile(db: Database, mediaId: Id, now: number): Promise<FileClaim | undefined> {
  return db.one<FileClaim>(sql`
    WITH before AS (
      SELECT id, lease_until IS NOT NULL AS is_expired FROM media
       WHERE id = ${mediaId} AND looks_at <= ${new Date(now)} AND removed_at IS NULL AND status IN ('processing', 'ready')
         AND (lease_until IS NULL OR lease_until < clock_timestamp()) FOR NO KEY UPDATE)
    UPDATE media
       SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
           fault_count = fault_count + CASE WHEN before.is_expired THEN 1 ELSE 0 END
      FROM before WHERE media.id = before.id
 RETURNING ${mediaColumns.and(columns(Media, ['ownerId', 'fence', 'faultCount', 'examined'], 'media'))}, media.sha256 IS NOT NULL AS "hasDigest"`);
}

/** Renews a claim until it is released. @param stop a signal that aborts when the process shuts down */
export function holdFile(db: Queries, claim: FileClaim, onRenewal: () => void, stop: AbortSignal): HeldLease {
  return holdLease(db, Media, claim, { seconds: leaseSeconds, everyMs: processingRules.renewalMs, onRenewal, stop });
}

/**
 * Releases an interrupted claim. The file can be claimed immediately, and no fault is counted. @returns false if the claim has ended
 * or another worker has the file
 */
export async function releaseFile(db: Queries, { id, fence }: FileClaim): Promise<boolean> {
  const releasedRows = await db.run(sql`
    UPDATE media SET lease_until = NULL WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  return releasedRows > 0;
}

/**
 * Records that the work failed because of an internal error, and defers the file to a later try.
 * @returns false if there is no further try; the claim is then still valid
 * @throws LeaseLost
 */
export async function deferFile(db: Queries, { id, fence, faultCount }: FileClaim, now: Date): Promise<boolean> {
  const wait = waitAfterFault(faultCount + 1);
  if (wait === undefined) return false;
  const changedRows = await db.run(sql`
    UPDATE media SET lease_until = NULL, fault_count = fault_count + 1, looks_at = ${new Date(now.getTime() + wait)}
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  if (changedRows === 0) throw new LeaseLost();
  return true;
}
