/** Closes a club that is erased: from the first commit on, nothing finds it, and what is under way ends (ERS-5, ERS-6). */
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { StudentDeps } from '../deps.ts';
import type { CloseClub } from '../questions.ts';

/**
 * Takes one step. The first call marks the club. Then each call ends one batch of open work, context by context. Repeated and simultaneous
 * calls do no harm.
 * @param deps.closers the answers of the contexts to `closeClub`
 * @returns whether another call may have work. False also for a club that does not exist
 */
export async function closeClub(
  { closers, ...deps }: StudentDeps & { closers: readonly CloseClub[] },
  clubId: Id,
  now: Date,
): Promise<{ more: boolean }> {
  await markClosed(deps, clubId, now);
  for (const close of closers) {
    const { more } = await close(deps, clubId, now).catch(lookAgain);
    if (more) return { more };
  }
  return { more: false };
}

/** Another process has ended the same record, or a request has changed it, since it was found. @throws every other error */
function lookAgain(error: unknown): { more: true } {
  if (error instanceof DomainError && (error.status === 404 || error.status === 409)) return { more: true };
  throw error;
}

/**
 * Marks the club, and keeps its slug in the row of the erasure. The lock waits for every transaction that has written a row with a foreign
 * key to the club. So each later transaction sees that the club is closed.
 */
async function markClosed({ db }: Pick<StudentDeps, 'db'>, clubId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const open = await tx.one(sql`SELECT 1 FROM clubs WHERE id = ${clubId} AND erasing_at IS NULL FOR UPDATE`);
    if (!open) return;
    await tx.run(sql`UPDATE clubs SET erasing_at = ${now} WHERE id = ${clubId}`);
    await tx.run(sql`UPDATE erasures SET slug = club.slug
        FROM clubs club WHERE club.id = ${clubId} AND erasures.subject_id = club.id AND erasures.kind = 'club'`);
  });
}
