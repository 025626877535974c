/** Objects that no file has any more: what a file has moved away from, and copies that came to nothing (MED-27). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ErasureCounts } from './erasure.ts';
import { mediaRules, renditionsPrefix } from '../media.policy.ts';
import type { MediaDeps } from '../media.ts';

export interface Leftover {
  clubId: Id;
  key: string;
  /** When it goes, with the renditions beside it. */
  erasesAt: Date;
  /** Until when the address of an upload was good that leads there; absent: there was none. */
  uploadExpiresAt?: Date | null;
}

/** In the transaction after which no file has the object. */
export async function leaveBehind(
  tx: Transaction,
  { clubId, key, erasesAt, uploadExpiresAt = null }: Leftover,
): Promise<void> {
  const arrivesUntil = uploadExpiresAt && new Date(uploadExpiresAt.getTime() + mediaRules.arrivalMs);
  await tx.run(sql`
    INSERT INTO leftover_objects (object_key, club_id, erases_at, arrives_until)
    VALUES (${key}, ${clubId}, ${erasesAt}, ${arrivesUntil}) ON CONFLICT (object_key) DO NOTHING`);
}

/** Of a round, and how long it goes on beginning with the next one. */
const erasedARound = 100;
const roundMs = 10_000;
/** After the store has not answered. */
const againMs = 5 * 60_000;

/** Erases what is due, a round of it. Repetition and company do no harm: what is gone already is erased again. */
export async function eraseLeftovers(
  { db, storage }: MediaDeps,
  now: Date,
): Promise<ErasureCounts & { more: boolean }> {
  const due = await db.rows<{ key: string }>(sql`
    SELECT object_key AS key FROM leftover_objects WHERE erases_at <= ${now} ORDER BY erases_at LIMIT ${erasedARound}`);
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
      const again = new Date(now.getTime() + againMs);
      await db.run(
        sql`UPDATE leftover_objects SET erases_at = ${again} WHERE object_key = ${key} AND erases_at <= ${now}`,
      );
      counts.refused += 1;
    }
  }
  return { ...counts, more: due.length === erasedARound };
}
