/**
 * Pending sign-ups: accounts that somebody signed up for and nobody confirmed (DEC-62). Anybody can sign up with anybody's
 * address, so they take no place among the club's students, and the club or a sale takes them over without their password.
 */
import { randomUUID } from 'node:crypto';
import { SignUpNetwork } from '../../entities/identity/sign-up-network.ts';
import type { AccountOpener } from '../../entities/identity/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { StaleRead, type Queries, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { lockPlaces, takePlaces, type Addressee, type HeldPlaces } from '../billing/allowances.ts';
import { tokenLifetimeMs } from '../mail/one-time-tokens.ts';
import { pendingSignUpRules } from './pending-sign-ups.policy.ts';
import { RefusalToPerson, minutesOf } from '../language/refusal.ts';

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

/** Where a sign-up comes from, and which sign-ups the bounds leave out. */
interface SignUpSource {
  /** The network of the caller; undefined if nobody knows. */
  network: string | undefined;
  /** The condition on a row of `students` that takes no place among the pending ones. */
  uncounted: Sql;
}

/**
 * Bounds the sign-ups of a club that nobody has confirmed, and those of one network among them. Checked before the address is looked
 * up, so that all callers get the same answer. Sign-ups at the same time may pass the bound by as many as they are.
 * @throws DomainError rate_limited
 */
export async function requireFewPending(
  db: Queries,
  vault: Vault,
  clubId: Id,
  { network, uncounted }: SignUpSource,
  now: Date,
): Promise<void> {
  const { anHour, anHourOfNetwork, hourMs } = pendingSignUpRules;
  const since = new Date(now.getTime() - hourMs);
  const counted = sql`students.club_id = ${clubId} AND students.removed_at IS NULL AND ${pendingSignUp} AND students.created_at > ${since}`;
  const oldestOf = (pending: Sql, most: number) =>
    db.one<{ createdAt: Date }>(
      sql`SELECT students.created_at AS "createdAt" FROM ${pending} ORDER BY students.created_at DESC OFFSET ${most - 1} LIMIT 1`,
    );
  const ofClub = await oldestOf(sql`students WHERE ${counted} AND NOT (${uncounted})`, anHour);
  if (ofClub) throw tooMany('refusal.too_many_sign_ups', ofClub.createdAt, now);
  if (network === undefined) return;
  const ofNetwork = await oldestOf(
    sql`sign_up_networks origin JOIN students ON students.id = origin.student_id
        WHERE origin.club_id = ${clubId} AND origin.network_key = ${networkKeyOf(vault, clubId, network)} AND ${counted}`,
    anHourOfNetwork,
  );
  if (ofNetwork) throw tooMany('refusal.too_many_sign_ups_of_network', ofNetwork.createdAt, now);
}

function tooMany(
  key: 'refusal.too_many_sign_ups' | 'refusal.too_many_sign_ups_of_network',
  since: Date,
  now: Date,
): RefusalToPerson {
  const seconds = Math.max(1, Math.ceil((since.getTime() + pendingSignUpRules.hourMs - now.getTime()) / 1_000));
  return new RefusalToPerson('rate_limited', ({ say }) => say(key, { minutes: minutesOf(seconds) }), {
    retryAfterSeconds: seconds,
  });
}

/** Notes the network of a new sign-up, as a hash and for an hour: no bound looks further back. */
export async function noteNetwork(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, network }: { clubId: Id; studentId: Id; network: string },
  now: Date,
): Promise<void> {
  const networkKey = networkKeyOf(vault, clubId, network);
  await tx.manager.insert(SignUpNetwork, { studentId, clubId, networkKey, createdAt: now });
}

/** Forgets the network of a student who is removed. */
export async function forgetNetwork(tx: Transaction, studentId: Id): Promise<void> {
  await tx.manager.delete(SignUpNetwork, { studentId });
}

/** Of one club: nobody can tell from the hashes that two clubs have a visitor in common. */
const networkKeyOf = (vault: Vault, clubId: Id, network: string) =>
  vault.deriveLasting(`network of sign-ups:${clubId}:${network}`);
