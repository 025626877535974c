/** Claiming a file: which worker processes it, for how long, and how a claim is given back (ENG-2). */
import { Media } from '../../../entities/media/media.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { holdLease, LeaseLost, type HeldLease } from '../../../platform/engine/lease.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mediaColumns, type StoredMedia } from '../media.ts';
import { processingRules, waitAfterFault } from '../media.policy.ts';

export interface FileClaim extends StoredMedia {
  /** The student whose it is; null for the library. */
  ownerId: Id | null;
  /** A later claim has a higher one. */
  fence: number;
  /** Of ours, since the last step that succeeded, with a claim before this one that ended with its process. */
  faultCount: number;
  /** Whether its checksums are recorded. */
  hasDigest: boolean;
  /** Version of the rules by which it was examined in full. */
  examined: number;
}

const leaseSeconds = processingRules.leaseMs / 1_000;

/** @param now Unix milliseconds @returns undefined where it is not due, or claimed by a worker that lives */
export function claimFile(db: Database, mediaId: Id, now: number): Promise<FileClaim | undefined> {
  return db.one<FileClaim>(sql`
    WITH before AS (
      SELECT id, lease_until IS NOT NULL AS died FROM media
       WHERE id = ${mediaId} AND looks_at <= ${new Date(now)} AND removed_at IS NULL AND status IN ('processing', 'ready')
         AND (lease_until IS NULL OR lease_until < clock_timestamp()) FOR NO KEY UPDATE)
    UPDATE media
       SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
           fault_count = fault_count + CASE WHEN before.died THEN 1 ELSE 0 END
      FROM before WHERE media.id = before.id
 RETURNING ${mediaColumns.and(columns(Media, ['ownerId', 'fence', 'faultCount', 'examined'], 'media'))}, media.sha256 IS NOT NULL AS "hasDigest"`);
}

/** Renews a claim until it is released. @param stop aborts when the process is to stop */
export function holdFile(db: Queries, claim: FileClaim, onRenewal: () => void, stop: AbortSignal): HeldLease {
  return holdLease(db, Media, claim, { seconds: leaseSeconds, everyMs: processingRules.renewalMs, onRenewal, stop });
}

/**
 * Gives a claim back that was broken off: it can be had at once, and counts as no fault.
 * @returns false where it has ended already, or another worker has overtaken it
 */
export async function releaseFile(db: Queries, { id, fence }: FileClaim): Promise<boolean> {
  const released = await db.run(sql`
    UPDATE media SET lease_until = NULL WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  return released > 0;
}

/**
 * A fault of ours in the work itself: it is tried again after a while.
 * @returns whether it is; else it was the last try, and the claim still holds
 * @throws LeaseLost
 */
export async function putOff(db: Queries, { id, fence, faultCount }: FileClaim, now: Date): Promise<boolean> {
  const wait = waitAfterFault(faultCount + 1);
  if (wait === undefined) return false;
  const changed = await db.run(sql`
    UPDATE media SET lease_until = NULL, fault_count = fault_count + 1, looks_at = ${new Date(now.getTime() + wait)}
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  if (changed === 0) throw new LeaseLost();
  return true;
}
