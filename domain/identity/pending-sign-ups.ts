/**
 * Pending sign-ups: accounts that somebody signed up for and nobody confirmed (DEC-62). Anybody can sign up with anybody's
 * address, so they take no place among the club's students, and the club or a sale takes them over without their password.
 */
import { randomUUID } from 'node:crypto';
import type { AccountOpener } from '../../entities/identity/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { StaleRead, type Queries, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { lockPlaces, takePlaces, type Addressee, type HeldPlaces } from '../billing/allowances.ts';
import { tokenLifetimeMs } from '../mail/one-time-tokens.ts';
import { pendingSignUpRules } from './pending-sign-ups.policy.ts';

/** The condition on a row of `students`. */
export const pendingSignUp = sql`opened_by = 'sign_up' AND verified_at IS NULL`;

interface Account {
  id: Id;
  clubId: Id;
  email: string;
  isPending: boolean;
}

/**
 * Locks a student who may be about to count: the club's count first, where they do not count yet
 * (docs/explanation/architecture.md#locks). For a transaction that holds no student.
 * @param which of the students who were not removed
 * @returns the account, if there is one; and places, if it is pending or `orNew` and absent
 * @throws DomainError limit_reached; StaleRead
 */
export async function lockAccount(
  tx: Transaction,
  which: Sql,
  options: { addressee?: Addressee; orNewIn?: Id },
): Promise<{ account: Account | undefined; places: HeldPlaces | undefined }> {
  const find = sql`SELECT id, club_id AS "clubId", email, ${pendingSignUp} AS "isPending" FROM students WHERE removed_at IS NULL AND ${which}`;
  const seen = await tx.one<Account>(find);
  const clubId = seen === undefined ? options.orNewIn : seen.isPending ? seen.clubId : undefined;
  const places = clubId === undefined ? undefined : await lockPlaces(tx, clubId, 1, options.addressee);
  const account = await tx.one<Account>(sql`${find} FOR NO KEY UPDATE`);
  const takesPlace = account === undefined ? options.orNewIn !== undefined : account.isPending;
  if (takesPlace && !places) throw new StaleRead();
  return { account, places: takesPlace ? places : undefined };
}

/** Records the place that a pending sign-up takes when it is confirmed. */
export async function takePlaceOf(
  tx: Transaction,
  { account, places }: { account: Pick<Account, 'clubId'>; places: HeldPlaces | undefined },
  now: Date,
): Promise<void> {
  if (places) await takePlaces(tx, account.clubId, places, now);
}

/**
 * Takes pending sign-ups over: from now on the club or a sale stands for them, and they count. Their passwords go, for they
 * may be a stranger's. What was offered still answers `email_not_verified`, so that signing in tells nobody of it (ADR 5).
 * The students' rows and their places are held.
 */
export async function takeOver(
  tx: Transaction,
  studentIds: readonly Id[],
  by: Exclude<AccountOpener, 'sign_up'>,
  now: Date,
): Promise<void> {
  if (studentIds.length === 0) return;
  const purpose = 'student_sign_up_again';
  const expiresAt = new Date(now.getTime() + tokenLifetimeMs[purpose]);
  const ids = studentIds.map(() => randomUUID());
  await tx.run(sql`
    INSERT INTO one_time_tokens (id, purpose, student_id, password_hash, created_at, expires_at)
    SELECT offer.id, ${purpose}, student.id, student.password_hash, ${now}, ${expiresAt}
      FROM unnest(${ids}::uuid[], ${studentIds}::uuid[]) AS offer (id, student_id) JOIN students student ON student.id = offer.student_id
     WHERE student.password_hash IS NOT NULL AND ${pendingSignUp}
       AND NOT EXISTS (SELECT FROM one_time_tokens token WHERE token.student_id = student.id AND token.purpose = ${purpose})`);
  await tx.run(
    sql`UPDATE students SET opened_by = ${by}, password_hash = NULL WHERE id = ANY (${studentIds}) AND ${pendingSignUp}`,
  );
}

/**
 * Bounds the sign-ups of a club that nobody has confirmed. Checked before the address is looked up, so that all callers get the same answer.
 * Sign-ups at once may pass the bound by as many as they are.
 * @throws DomainError rate_limited
 */
export async function requireFewPending(db: Queries, clubId: Id, now: Date): Promise<void> {
  const { anHour, hourMs } = pendingSignUpRules;
  const first = await db.one<{ createdAt: Date }>(sql`
    SELECT created_at AS "createdAt" FROM students
     WHERE club_id = ${clubId} AND removed_at IS NULL AND ${pendingSignUp} AND created_at > ${new Date(now.getTime() - hourMs)}
     ORDER BY created_at DESC OFFSET ${anHour - 1} LIMIT 1`);
  if (!first) return;
  const seconds = Math.max(1, Math.ceil((first.createdAt.getTime() + hourMs - now.getTime()) / 1_000));
  throw new DomainError(
    'rate_limited',
    `Too many people have signed up lately without confirming. Retry after ${seconds} seconds.`,
    { retryAfterSeconds: seconds },
  );
}
