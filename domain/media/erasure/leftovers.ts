/** Erases objects in the bucket that belong to no file any more: old objects of moved files, and unused copies (MED-27). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ErasureCounts } from './erasure.ts';
import { mediaRules } from '../media.policy.ts';
import { renditionsPrefix } from '../processing.policy.ts';
import type { MediaDeps } from '../media.ts';

export interface Leftover {
  /** Null if the object belongs to no club. */
  clubId: Id | null;
  key: string;
  /** The time at which maintenance erases the object and its renditions. */
  erasesAt: Date;
  /** The time at which the signed upload address of this object expires; absent if the object has no such address. */
  uploadExpiresAt?: Date | null;
}

/** Records an object for a later erasure. Call it in the transaction that removes the last row with this object. */
export async function recordLeftover(
  tx: Transaction,
  { clubId, key, erasesAt, uploadExpiresAt = null }: Leftover,
): Promise<void> {
  const arrivesUntil = uploadExpiresAt && new Date(uploadExpiresAt.getTime() + mediaRules.arrivalMs);
  await tx.run(sql`
    INSERT INTO leftover_objects (object_key, club_id, erases_at, arrives_until)
    VALUES (${key}, ${clubId}, ${erasesAt}, ${arrivesUntil}) ON CONFLICT (object_key) DO NOTHING`);
}

/** Call it in the transaction that writes a row with this object, which then stays. */
export async function keepLeftover(tx: Transaction, key: string): Promise<void> {
  await tx.run(sql`DELETE FROM leftover_objects WHERE object_key = ${key}`);
}

/**
 * Records an object that no row names any more. Maintenance erases it now, and again later, because an upload may be under way. The object
 * may be recorded already.
 */
export async function recordDroppedObject(
  tx: Transaction,
  { clubId, key, again }: { clubId: Id; key: string; again: Date },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    INSERT INTO leftover_objects AS leftover (object_key, club_id, erases_at, arrives_until) VALUES (${key}, ${clubId}, ${now}, ${again})
    ON CONFLICT (object_key) DO UPDATE SET erases_at = excluded.erases_at, arrives_until = excluded.arrives_until`);
}

/** The limits of one round: the number of objects, and the time after which the round starts no further object. */
const objectsPerRound = 100;
const roundMs = 10_000;
/** The time until the next try, if the store did not answer. */
const retryMs = 5 * 60_000;

/** Erases the objects that are due, in one round. Repeated and parallel rounds do no harm. */
export async function eraseLeftovers(
  { db, storage }: MediaDeps,
  now: Date,
): Promise<ErasureCounts & { more: boolean }> {
  const due = await db.rows<{ key: string }>(sql`
    SELECT object_key AS key FROM leftover_objects WHERE erases_at <= ${now} ORDER BY erases_at LIMIT ${objectsPerRound}`);
  const ends = performance.now() + roundMs;
  const counts = { erased: 0, refused: 0 };
  for (const { key } of due) {
    if (performance.now() > ends) return { ...counts, more: true };
    try {
      await storage.remove(key);
      await storage.removeUnder(renditionsPrefix(key));
      await db.run(sql`
        UPDATE leftover_objects SET erases_at = arrives_until, arrives_until = NULL WHERE object_key = ${key} AND arrives_until > ${now}`);
      await db.run(sql`DELETE FROM leftover_objects WHERE object_key = ${key} AND erases_at <= ${now}`);
      counts.erased += 1;
    } catch {
      const again = new Date(now.getTime() + retryMs);
      await db.run(
        sql`UPDATE leftover_objects SET erases_at = ${again} WHERE object_key = ${key} AND erases_at <= ${now}`,
      );
      counts.refused += 1;
    }
  }
  return { ...counts, more: due.length === objectsPerRound };
}
